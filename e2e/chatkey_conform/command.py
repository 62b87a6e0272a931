"""Runs `chatkey conform`: reads the files, runs cases and scenarios, prints the results and writes the reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from chatkey_conform.capabilities import CAPABILITIES
from chatkey_conform.case import Case, Test
from chatkey_conform.data import scored
from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.reports import badge, html, junit, markdown
from chatkey_conform.reports.document import About, document
from chatkey_conform.reports.exits import status
from chatkey_conform.reports.words import headline, unjudged
from chatkey_conform.running.outcome import Outcome, Result
from chatkey_conform.running.runner import SMOKE, Run
from chatkey_conform.running.scenarios import GROUP, PAGE, Selection, list_scenarios, run_scenarios
from chatkey_conform.running.secrets import check_secrets
from chatkey_conform.subject.world import World
from chatkey_conform.suite import cases
from chatkey_conform.target import Target, TargetError, read_target
from chatkey_conform.widget import describes_widget, read_widget
from chatkey_peer.exits import Exit
from chatkey_peer.redaction import Masks
from chatkey_peer.runners import harmless

MOST_SHOWN = 20
LIMITED = (
    "Most of a whole run waits for the limit of {rate} logins a minute. If your test deployment has a higher limit, or "
    "none, write it into [limits]: oauth_rate = 0 makes the run about four times as fast."
)
MARKS = {Verdict.FAILED: "failed", Verdict.ERROR: "harness", Verdict.KNOWN: "known"}


@dataclass(frozen=True)
class Wanted:
    """The options given on the command line."""

    target: Path
    smoke: bool = False
    words: str = ""
    jobs: int = 8
    browser: bool = False
    output: Path | None = None
    compare: Path | None = None

    def selection(self, *, any_widget: bool = False) -> Selection:
        return Selection(any_widget=any_widget, smoke=self.smoke, words=self.words)


def listed(words: str = "", target: Path | None = None) -> Iterator[str]:
    """Return one line for each case, or for each scenario if the target is a widget, with its id and its sentences."""
    is_widget = target is not None and describes_widget(target)
    found = list_scenarios(words) if is_widget else [case for case in cases() if words in case.id]
    return (f"{case.id}  {' '.join(case.sentences)}" for case in found)


def _check_words(wanted: Wanted) -> None:
    """Raise `TargetError` if the words of `-k` select nothing."""
    if wanted.words and not (wanted.smoke or wanted.browser or any(listed(wanted.words, wanted.target))):
        raise TargetError(f"-k {wanted.words!r} selects no case. The option --list lists the ids of all cases")


def chosen(wanted: Wanted) -> list[Case]:
    """Return the selected cases. The smoke cases are always included."""
    rest = [] if wanted.smoke else [case for case in cases() if wanted.words in case.id]
    return list(dict.fromkeys([*(case for case in cases() if case.id.startswith(SMOKE)), *rest]))


def run(wanted: Wanted) -> Exit:
    """Judge a service or a widget, print the results, and write the reports to `wanted.output`."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        others = [_read_report(wanted.compare)] if wanted.compare else []
        if wanted.output is not None:
            wanted.output.mkdir(parents=True, exist_ok=True)
        _check_words(wanted)
        judge = _judge_widget if describes_widget(wanted.target) else _judge_service
        result, about = judge(wanted)
    except (TargetError, HarnessError, OSError) as error:
        _say(f"The run could not start: {str(error).removesuffix('.')}.", err=True)
        return Exit.NOT_STARTED
    except KeyboardInterrupt:
        click.echo("Interrupted: no report was written.", err=True)
        return Exit.NOT_STARTED
    report = document(result, about, suite=version("chatkey"), started=started, part=part_of(wanted))
    if wanted.output is not None:
        write(report, wanted.output, *others)
    _summary(report, wanted)
    return status(result, part=part_of(wanted))


def _judge_service(wanted: Wanted) -> tuple[Result, About]:
    target = read_target(wanted.target)
    known = target.known_failures()
    service = target.service
    world = _opened(target)
    try:
        _say(f"{target.name} at {target.base_url}, {len(chosen(wanted))} cases …")
        if (rate := world.limits.oauth_rate) and not wanted.smoke:
            _say(LIMITED.format(rate=rate))
        check_secrets(world)
        result = Run(world, known, wanted.jobs, lambda outcome: _tell(outcome, world.secrets)).judge(chosen(wanted))
        grade = target.document.businesses.grade
        about = About(service.name, service.version, target.base_url, grade, service.revision, world.capabilities)
        about = replace(about, secrets=world.secrets)
    finally:
        world.close()
    return (_with_scenarios(result, wanted, service.revision) if wanted.browser else result), about


def _opened(target: Target) -> World:
    """Connect to the service and the adapter. Raises `TargetError` and `HarnessError`."""
    try:
        world = World(target)
        world.reach()
    except ValueError as error:
        raise TargetError(str(error)) from None
    return world


def _with_scenarios(result: Result, wanted: Wanted, revision: int) -> Result:
    """Run the scenarios too, unless no smoke case has passed, and return both results as one."""
    sentences = result.scored | scored(revision)["scenarios"]
    smoked = [outcome.verdict for outcome in result.outcomes if outcome.case.id.startswith(SMOKE)]
    if Verdict.PASSED not in smoked:
        return replace(result, scored=sentences)
    try:
        found = run_scenarios(wanted.target.resolve(), wanted.selection(), wanted.output)
    except HarnessError as error:  # the results of the cases are kept
        test = Test("browser", "The browser scenarios start.", (), PAGE, GROUP)
        found = [Outcome(test, Verdict.ERROR, str(error))]
    return _joined(result, found, sentences)


def _judge_widget(wanted: Wanted) -> tuple[Result, About]:
    file = read_widget(wanted.target)
    widget = file.widget
    about = About(widget.name, widget.version, widget.script_url, "widget", widget.revision, frozenset(CAPABILITIES))
    _say(f"{file.name} at {widget.script_url}, with our service …")
    found = run_scenarios(wanted.target.resolve(), wanted.selection(any_widget=True), wanted.output)
    nothing = Result((), frozenset(), known=file.known_failures())
    return _joined(nothing, found, scored(widget.revision)["widget"]), about


def _joined(result: Result, found: list[Outcome], sentences: frozenset[str]) -> Result:
    for outcome in found:
        _tell(outcome)
    seconds = result.seconds + sum(outcome.seconds for outcome in found)
    return replace(result, outcomes=(*result.outcomes, *found), scored=sentences, seconds=seconds)


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


def _read_report(path: Path) -> dict[str, Any]:
    try:
        report: dict[str, Any] = Masks().value(json.loads(path.read_text("utf-8")))
    except ValueError as error:
        raise TargetError(f"{path} is not a report: {error}") from None
    return report


def write_index(folder: Path) -> Path:
    """Write a page that lists every `report.json` below the folder, and return its path."""
    found = sorted(folder.rglob("report.json"))
    reports = {
        quote((path.parent / "matrix.html").relative_to(folder).as_posix()): _read_report(path) for path in found
    }
    page = folder / "index.html"
    page.write_text(html.index(reports), encoding="utf-8")
    return page


def _say(text: str, secrets: Iterable[str] = (), *, err: bool = False) -> None:
    click.echo(harmless(Masks(secrets).text(text)), err=err)


def _tell(outcome: Outcome, secrets: Iterable[str] = ()) -> None:
    if outcome.verdict in MARKS:
        _say(f"  {MARKS[outcome.verdict]}: {outcome.case.id}: {outcome.reason}", secrets)


def _summary(report: dict[str, Any], wanted: Wanted) -> None:
    failed = [sentence for sentence in report["sentences"] if sentence["verdict"] == "failed"]
    for sentence in failed[:MOST_SHOWN]:
        _say("\n{id} ({level}) fails: {text}\n  {reason}".format_map(sentence))
    if len(failed) > MOST_SHOWN:
        _say(f"\n… and {len(failed) - MOST_SHOWN} more sentences.")
    for name, meaning in report["missing"].items():
        _say(f"not applicable without {name}: {meaning}")
    for name in report["mended"] if not report["part"] else ():
        _say(f"known failure {name} passes now or does not exist: remove it from the file")
    if line := unjudged(report):
        _say(line)
    if wanted.output is not None:
        _say(f"Written: {wanted.output}/matrix.html and the other formats.")
    _say(headline(report))
