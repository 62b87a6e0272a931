"""Draws mutants, and records which tests notice each, to find tests that alone notice nothing.

    python -m tools.mutation_kills FILE… --level PATH --tests PATH [--tests PATH …] [--seed N] [--number N] [--into DIR]

draws mutants of the files, with one of each line before the second of any line. With each mutant, it runs the tests of
the level until one fails. If the first of them pass and mypy accepts the mutant, it runs all other tests, and records
each that fails. Only tests that run the mutated line are run. `DIR/kills.jsonl` has a line for each mutant. The command
goes on where it was stopped, and ends with the mutants that the level lets live and the tests that notice them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

import click
from tools.mutants import COMPONENTS, ROOT, copy
from tools.mutation_kills import lines
from tools.mutation_kills.drawing import Drawn, drawn
from tools.mutation_kills.recording import function_of

FIRST: Final = 80
"""So many tests of the level run before a mutant is checked with mypy and with the other tests."""


class Judge:
    """Judges mutants, one after another, in a copy of the components."""

    def __init__(self, into: Path, level: str, tests: Sequence[str]) -> None:
        self._into, self._copy, self._level = into, into / "copy", level
        shutil.rmtree(self._copy, ignore_errors=True)
        copy(COMPONENTS, self._copy)
        paths = [str(self._copy / component) for component in COMPONENTS]
        self._environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
        data = into / "lines" / "data"
        if not data.parent.exists():
            data.parent.mkdir()
            self._pytest([level, *tests], "-p", "tools.mutation_kills.lines", **{lines.VARIABLE: str(data)})
        self._lines = lines.read(data, self._copy)
        self._killers: Counter[str] = Counter()

    def judge(self, mutant: Drawn) -> dict[str, Any]:
        """Return what there is to know about a mutant: the change, and the tests that notice it."""
        path = self._copy / mutant.file
        whole, text = path.read_text("utf-8"), mutant.text()
        path.write_text(text, "utf-8")
        try:
            noticed = self._noticed(mutant)
        finally:
            path.write_text(whole, "utf-8")
        changed = unified_diff(whole.splitlines(), text.splitlines(), lineterm="", n=0)
        return {
            "name": mutant.name,
            "change": [line for line in changed if line[:2] not in {"--", "++", "@@"}],
            **noticed,
        }

    def _noticed(self, mutant: Drawn) -> dict[str, Any]:
        tests = self._tests_of(mutant)
        level = [test for test in tests if test.startswith(self._level)]
        if killer := self._killer(level[:FIRST]):
            return {"level": killer}
        if not self._is_typed(mutant.file):
            return {"level": "mypy"}
        others = self._failed([test for test in tests if not test.startswith(self._level)])
        return {"level": self._killer(level[FIRST:]) if others else None, "others": others}

    def _tests_of(self, mutant: Drawn) -> list[str]:
        """Return the tests that run a line of the mutant, those that have noticed others before the rest.

        If only the import of the module runs the line, return the tests that run any line of the file.
        """
        measured = self._lines[mutant.file]
        first = max((line for line in measured if line <= mutant.lines[0]), default=0)  # of a longer statement
        at_import = measured[min(measured, default=0)]
        tests = set[str]().union(*(measured[line] for line in (first, *mutant.lines))) - at_import
        found = sorted(tests or set().union(*measured.values()))
        random.Random(mutant.name).shuffle(found)  # noqa: S311 - draws no secrets
        return sorted(found, key=lambda test: -self._killers[test])

    def _killer(self, tests: Sequence[str]) -> str | None:
        """Return the first test that fails. A test that passes when it is run again, alone, is flaky."""
        failed = self._failed(tests, "-x")
        if not failed or not self._failed(failed):
            return None
        self._killers[failed[0]] += 1
        return failed[0]

    def _failed(self, tests: Sequence[str], *options: str) -> list[str]:
        """Run the tests, and return those that fail."""
        if not tests:
            return []
        file = self._into / "failed.txt"
        file.write_text("")
        self._pytest(tests, "-p", "tools.mutation_kills.recording", *options, FAILED=str(file))
        return sorted(set(file.read_text("utf-8").splitlines()))

    def _pytest(self, tests: Sequence[str], *options: str, **environ: str) -> None:
        named = self._into / "tests.txt"
        named.write_text("\n".join(tests), "utf-8")
        quiet = ("-q", "--no-header", "--assert=plain", "--tb=line", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *quiet, *options, f"@{named}"]
        with (self._into / "output.txt").open("w") as output:
            subprocess.run(command, cwd=ROOT, env=self._environ | environ, stdout=output, stderr=output, check=False)

    def _is_typed(self, file: str) -> bool:
        sources = [ROOT / "typings", *(self._copy / component for component in COMPONENTS)]
        environ = self._environ | {"MYPYPATH": os.pathsep.join(map(str, sources))}
        options = ("--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(self._into.resolve() / "mypy"))
        command = [sys.executable, "-m", "mypy", *options, "--no-error-summary", file]
        done = subprocess.run(command, cwd=self._copy, env=environ, stdout=subprocess.DEVNULL, check=False)
        return done.returncode == 0


@click.command
@click.argument("files", nargs=-1, required=True)
@click.option("--level", required=True, help="The tests that judge the behaviour of these files.")
@click.option("--tests", multiple=True, help="Other tests. Repeatable.")
@click.option("--seed", default=1, help="Seed of the random order.")
@click.option("--number", default=100, help="Number of mutants.")
@click.option("--into", type=click.Path(path_type=Path), default=ROOT / ".nox" / "kills", help="Folder of the results.")
def main(*, files: tuple[str, ...], level: str, tests: tuple[str, ...], seed: int, number: int, into: Path) -> None:
    """Draw mutants, and record which tests notice each."""
    into.mkdir(parents=True, exist_ok=True)
    known = into / "kills.jsonl"
    rows = [json.loads(line) for line in known.read_text("utf-8").splitlines()] if known.exists() else []
    done = {row["name"] for row in rows}
    os.nice(10)
    judge = Judge(into, level, tests)
    for mutant in drawn(files, seed)[:number]:
        if mutant.name not in done:
            rows.append(judge.judge(mutant))
            with known.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(rows[-1])}\n")
    for row in rows:
        if row["level"] is None:
            noticed = sorted({function_of(test) for test in row["others"]}) or ["nothing"]
            click.echo("\n".join([row["name"], *row["change"], *(f"    noticed by {test}" for test in noticed)]))
    click.echo(f"{sum(row['level'] is None for row in rows)} of {len(rows)} mutants live in {level}")


if __name__ == "__main__":
    main()
