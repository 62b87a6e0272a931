"""Runs `chatkey conform`: reads the files, runs the cases, prints the results and writes the reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from chatkey_conform.case import Case
from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.reports import badge, html, junit, markdown
from chatkey_conform.reports.document import document
from chatkey_conform.reports.exits import status
from chatkey_conform.reports.words import headline, unjudged
from chatkey_conform.running.outcome import Outcome, Result
from chatkey_conform.running.runner import SMOKE, Run
from chatkey_conform.running.secrets import check_secrets
from chatkey_conform.subject.world import World
from chatkey_conform.suite import cases
from chatkey_conform.target import TargetError, read_target
from chatkey_peer.exits import Exit

MOST_SHOWN = 20
MARKS = {Verdict.FAILED: "failed", Verdict.ERROR: "harness", Verdict.KNOWN: "known"}


@dataclass(frozen=True)
class Wanted:
    """The options given on the command line."""

    target: Path
    smoke: bool = False
    words: str = ""
    jobs: int = 8
    output: Path | None = None
    compare: Path | None = None


def listed(words: str = "") -> Iterator[str]:
    """Return one line for each case, with the id and the sentences of the case."""
    return (f"{case.id}  {' '.join(case.sentences)}" for case in cases() if words in case.id)


def chosen(wanted: Wanted) -> list[Case]:
    """Return the selected cases. The smoke cases are always included."""
    rest = [] if wanted.smoke else [case for case in cases() if wanted.words in case.id]
    return list(dict.fromkeys([*(case for case in cases() if case.id.startswith(SMOKE)), *rest]))


def run(wanted: Wanted) -> Exit:
    """Test the target, print the results, and write the reports to `wanted.output`."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        target = read_target(wanted.target)
        known = target.known_failures()
        world = World(target)
        world.reach()
        others = [json.loads(wanted.compare.read_text("utf-8"))] if wanted.compare else []
        if wanted.output is not None:
            wanted.output.mkdir(parents=True, exist_ok=True)
    except (TargetError, HarnessError, ValueError, OSError) as error:
        click.echo(f"The run could not start: {error}", err=True)
        return Exit.NOT_STARTED
    click.echo(f"{target.name} at {target.base_url}, {len(chosen(wanted))} cases …")
    try:
        check_secrets(world)
        result = Run(world, known, wanted.jobs, _tell).judge(chosen(wanted))
    except (TargetError, HarnessError) as error:
        click.echo(f"The run could not start: {error}.", err=True)
        return Exit.NOT_STARTED
    except KeyboardInterrupt:
        click.echo("Interrupted: no report was written.", err=True)
        return Exit.NOT_STARTED
    finally:
        world.close()
    report = document(
        result, target, world.capabilities, suite=version("chatkey"), started=started, part=part_of(wanted)
    )
    if wanted.output is not None:
        write(report, wanted.output, *others)
    _summary(result, report, wanted)
    return status(result, part=part_of(wanted))


def part_of(wanted: Wanted) -> str:
    """Describe the cases that the options select, or return an empty text for the whole suite."""
    if wanted.smoke:
        return "the smoke cases"
    return f"the smoke cases and the cases with {wanted.words!r}" if wanted.words else ""


def write(report: dict[str, Any], folder: Path, *others: dict[str, Any]) -> None:
    """Write the report in every format. `others` are reports to show beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("report.json", json.dumps(report, indent=2, ensure_ascii=False) + "\n"),
        ("junit.xml", junit.write(report)),
        ("report.md", markdown.write(report)),
        ("matrix.html", html.write(*others, report)),
        ("badge.json", badge.write(report)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def write_index(folder: Path) -> Path:
    """Write a page that lists every `report.json` below the folder, and return its path."""
    found = sorted(folder.rglob("report.json"))
    reports = {
        (path.parent / "matrix.html").relative_to(folder).as_posix(): json.loads(path.read_text("utf-8"))
        for path in found
    }
    page = folder / "index.html"
    page.write_text(html.index(reports), encoding="utf-8")
    return page


def _tell(outcome: Outcome) -> None:
    if outcome.verdict in MARKS:
        click.echo(f"  {MARKS[outcome.verdict]}: {outcome.case.id}: {outcome.reason}")


def _summary(result: Result, report: dict[str, Any], wanted: Wanted) -> None:
    for sentence in result.failed[:MOST_SHOWN]:
        click.echo(f"\n{sentence.id} ({sentence.level}) fails: {sentence.text}\n  {sentence.reason}")
    if len(result.failed) > MOST_SHOWN:
        click.echo(f"\n… and {len(result.failed) - MOST_SHOWN} more sentences.")
    for name, meaning in report["missing"].items():
        click.echo(f"not applicable without {name}: {meaning}")
    for name in report["mended"] if not report["part"] else ():
        click.echo(f"known failure {name} passes now or does not exist: remove it from the file")
    if line := unjudged(report):
        click.echo(line)
    if wanted.output is not None:
        click.echo(f"Written: {wanted.output}/matrix.html and the other formats.")
    click.echo(headline(report))
