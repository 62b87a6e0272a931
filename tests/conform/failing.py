"""Which cases of the suite fail for which broken service. `failing.toml` has the record.

    python -m tests.conform.failing [WORD …]

runs the broken services of `broken.toml` whose name contains one of the words, and records the cases that fail. A case
is recorded only for the first service for which it fails. An entry with `*` at its end stands for
all cases whose ids begin with the text before the `*`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.conform.changing import HERE, entries, judged_of_its_family

from chatkey_conform.data import fits
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.suite import cases

RECORD: Final = HERE / "failing.toml"
LONGEST: Final = 121
"""Characters of a line, with its end. A longer list has a line for each entry."""
ENDS: Final = "/-[,"
"""The characters after which a common beginning of several ids may end."""


def recorded() -> dict[str, list[str]]:
    """Return the recorded entries by the name of the broken service."""
    record: dict[str, list[str]] = tomllib.loads(RECORD.read_text("utf-8"))["failing"]
    return record


def without() -> dict[str, str]:
    """Return the reasons why cases fail for no broken service, by entry."""
    found = tomllib.loads(RECORD.read_text("utf-8")).get("without", [])
    return {entry: group["reason"] for group in found for entry in group["cases"]}


def matching(entries: Iterable[str]) -> set[str]:
    """Return the ids of the cases for which these entries are."""
    ids = [case.id for case in cases()]
    return {name for entry in entries for name in ids if fits(entry, name)}


def shortened(ids: set[str]) -> list[str]:
    """Return entries for exactly these cases, as few as the common beginnings allow."""
    return sorted(_entries("", ids, {case.id for case in cases()}))


def _entries(start: str, ids: set[str], every: set[str]) -> Iterator[str]:
    if len(ids) == 1:
        yield from ids
    elif start and ids == every:
        yield f"{start}*"
    else:
        for begun in sorted({_further(name, len(start)) for name in ids}):
            of_these, of_all = ({name for name in some if name.startswith(begun)} for some in (ids, every))
            if begun in ids:
                yield begun
                of_these, of_all = of_these - {begun}, of_all - {begun}
            yield from _entries(begun, of_these, of_all) if of_these else ()


def _further(name: str, at: int) -> str:
    ends = [place for end in ENDS if (place := name.find(end, at)) >= 0]
    return name[: min(ends) + 1] if ends else name


def record(failed: Mapping[str, set[str]]) -> None:
    """Write which cases fail for these broken services, and keep what is recorded for others."""
    known = {name: matching(found) for name, found in recorded().items()} | dict(failed)
    lines, taken = [], set[str]()
    for name in (entry["name"] for entry in entries("broken.toml")):
        new = known.get(name, set()) - taken
        taken |= new
        if new:
            shown = [json.dumps(entry, ensure_ascii=False) for entry in shortened(new)]
            line = f"{json.dumps(name)} = [{', '.join(shown)}]\n"
            several = "".join(f"    {entry},\n" for entry in shown)
            lines.append(line if len(line) <= LONGEST else f"{json.dumps(name)} = [\n{several}]\n")
    head, _, rest = RECORD.read_text("utf-8").partition("[failing]\n")
    tail = rest[rest.find("[[without]]") :] if "[[without]]" in rest else ""
    RECORD.write_text(f"{head}[failing]\n{''.join(lines)}\n{tail}", "utf-8")


def main(words: list[str]) -> None:
    """Run the chosen broken services, and record the cases that fail."""
    for service in entries("broken.toml"):
        if not words or any(word in service["name"] for word in words):
            with tempfile.TemporaryDirectory() as folder:
                failed = failed_of(Path(folder), service)
            record({service["name"]: failed})
            sys.stdout.write(f"{service['name']}: {len(failed)} cases\n")


def failed_of(folder: Path, service: Mapping[str, Any]) -> set[str]:
    """Return the ids of the cases that fail for a broken service."""
    return {outcome.case.id for outcome in judged_of_its_family(folder, service).of(Verdict.FAILED)}


if __name__ == "__main__":
    main(sys.argv[1:])
