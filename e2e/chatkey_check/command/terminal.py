"""Shows a run in the terminal: a progress bar during the run, and then the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from chatkey_check.model import GROUPS, Outcome, Question, Report, Verdict
from chatkey_check.reports import summary
from chatkey_check.reports.summary import FINDINGS, WORDS
from chatkey_check.words import plural
from chatkey_peer.exits import Exit

if TYPE_CHECKING:
    from chatkey_check.command.screen import Screen

MARKS: Final = {
    Verdict.PASS: ("✓", "+", "green"),
    Verdict.WARN: ("!", "!", "bold yellow"),
    Verdict.FAIL: ("✗", "x", "bold red"),
    Verdict.SKIP: ("○", "o", "dim"),
    Verdict.BLOCKED: ("·", ".", "dim"),
    Verdict.ERROR: ("?", "?", "bold magenta"),
}
VERDICTS: Final = {
    Exit.CLEAN: ("✓", "+", "bold green"),
    Exit.WARNINGS: ("!", "!", "bold yellow"),
    Exit.NOTHING_JUDGED: ("○", "o", "bold yellow"),
    Exit.NOT_ALL_JUDGED: ("○", "o", "bold yellow"),
}
"""The mark of a whole run. Every result that is not listed here is a failure."""
GROUP_WIDTH: Final = max(map(len, GROUPS)) + 2
ANSWER_LINES: Final = 14
IDS_SHOWN: Final = 3
WIDEST_REASON: Final = 40


class Terminal:
    """Shows a progress bar, then the verdict, the groups and the cause. Piped output has only the findings."""

    def __init__(self, screen: Screen, *, total: int, verbose: bool = False) -> None:
        self._screen = screen
        self._groups = screen.live or verbose
        self._verbose = verbose
        self._cause: Outcome | None = None
        self._total = total
        self._done = 0

    def begin(self, target: str) -> None:
        """Show the progress bar, with the address of the endpoint."""
        self._show_progress(target)

    def started(self, check: Question) -> None:
        """Show the name of the check in the bar."""
        self._show_progress(check.id)

    def waiting(self, seconds: float, why: str) -> None:
        """Show in the bar that the run waits, and why it waits."""
        self._show_progress(f"waiting {seconds:.1f} s: {why}")

    def finished(self, outcome: Outcome) -> None:  # noqa: ARG002 - what it found is shown when all is known
        self._done += 1

    def close(self) -> None:
        """Remove the bar, however the run ended."""
        self._screen.end_progress()

    def _show_progress(self, words: str) -> None:
        self._screen.progress(self._done, self._total, words)

    def end(self, report: Report) -> None:
        """Show the verdict, the findings, the cause, and the verdict again.

        If the endpoint cannot be reached, show only that it cannot be reached.
        """
        self._screen.end_progress()
        self._cause = report.cause
        self._show_verdict(report)
        if summary.result(report) is Exit.UNREACHABLE:
            self._show_unreachable(report.of("net.resolves"))
            return
        self._show_findings(report)
        if self._cause is not None:
            self._show_cause(self._cause)
        for line in report.stale:
            self._screen.say("  ", ("known failures: ", "bold red"), line)
        if summary.own_shape(report):
            self._screen.say()
            self._screen.say(("  Noted  ", "bold"), (summary.own_shape(report), "dim"))
        self._show_lines("Not judged", summary.reasons(report))
        self._show_lines("Options that allow more checks", summary.options(report))
        if self._verbose:
            self._show_lines("Sent", {line: [plural(times, "request")] for line, times in report.sent.items()})
        self._show_summary(report)
        self._show_verdict(report)

    def _show_verdict(self, report: Report) -> None:
        """Show in one line how the run ended."""
        fancy, simple, style = VERDICTS.get(summary.result(report), MARKS[Verdict.FAIL])
        mark = fancy if self._screen.has_unicode else simple
        self._screen.say((f"{mark} {summary.headline(report)}", style), (f"  {report.target}", "dim"))

    def _show_unreachable(self, outcome: Outcome) -> None:
        """Show what was tried, and what to do. There are no other findings if the endpoint cannot be reached."""
        self._screen.indented(outcome.message, 2)
        self._screen.indented(self._advice(outcome), 2, "cyan")

    def _show_findings(self, report: Report) -> None:
        """Show each group in one line, followed by its findings. Piped output has only the findings."""
        self._screen.say()
        for _, members in groupby(report.outcomes, lambda outcome: outcome.check.group):
            outcomes = list(members)
            if self._groups:
                self._show_group(outcomes)
            for outcome in outcomes:
                if outcome.verdict in FINDINGS:
                    self._finding(outcome)
                elif self._verbose:
                    self._line(outcome)

    def _show_group(self, outcomes: list[Outcome]) -> None:
        marks = [self._mark(outcome) for outcome in outcomes]
        said = summary.told(outcomes)
        self._screen.say("  ", (f"{outcomes[0].check.group:<{GROUP_WIDTH}}", "bold"), *marks, (f"   {said}", "dim"))

    def _line(self, outcome: Outcome) -> None:
        self._screen.say("    ", self._mark(outcome), f" {outcome.check.id}", (f"  {summary.reason(outcome)}", "dim"))

    def _finding(self, outcome: Outcome) -> None:
        title = ("    ", self._mark(outcome), (f" {outcome.check.id}", MARKS[outcome.verdict][2]))
        if outcome is self._cause:
            self._screen.say(*title, ("  start here, details below", "dim"))
            return
        self._screen.say(*title, (f"  known: {outcome.known}" if outcome.known else "", "dim"))
        self._screen.indented(outcome.message, 6)
        self._screen.indented(self._advice(outcome), 6, "cyan")

    def _show_cause(self, outcome: Outcome) -> None:
        """Show the first failure with all its details. The curl line is not wrapped, so that people can copy it."""
        section = f" · {summary.source(outcome.check)}" if outcome.check.section else ""
        self._screen.say()
        if self._screen.live:
            self._screen.rule(f"Start here: {outcome.check.id}{section}", "bold red", "red")
        else:
            self._screen.say((f"{self._mark(outcome)[0]} {outcome.check.id}{section}", "bold red"))
        self._screen.indented(outcome.message, 2, "bold")
        self._screen.indented(self._advice(outcome), 2, "cyan")
        self._screen.indented(outcome.check.why, 2, "dim")
        for seen in outcome.evidence:
            self._screen.say()
            self._screen.say("  ", (f"{seen.label}, {seen.seconds * 1000:.0f} ms", "dim"))
            self._screen.say("  ", (seen.curl, "green"))
            for line in _beginning(seen.response):
                self._screen.say("    ", (line, "dim"))
        for file in outcome.files:
            self._screen.say("  saved: ", file)
        self._screen.say()
        self._screen.say("  More about this check: ", (f"chatkey check --explain {outcome.check.id}", "bold"))

    def _show_lines(self, title: str, lines: Mapping[str, Sequence[str]]) -> None:
        """Show each reason or option together with the first few checks that it affects."""
        if not lines:
            return
        self._screen.say()
        self._screen.say((f"  {title}", "bold"))
        width = min(max(map(len, lines)), WIDEST_REASON)
        for text, ids in lines.items():
            rest = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
            self._screen.say("    ", f"{text:<{width}}  ", (", ".join(ids[:IDS_SHOWN]) + rest, "dim"))

    def _show_summary(self, report: Report) -> None:
        words = [(f"{count} {WORDS[verdict]}   ", MARKS[verdict][2]) for verdict, count in summary.counted(report)]
        self._screen.say()
        self._screen.say("  ", *words, (summary.duration(report), "dim"))

    def _advice(self, outcome: Outcome) -> str:
        return f"{'→' if self._screen.has_unicode else '->'} {outcome.hint}" if outcome.hint else ""

    def _mark(self, outcome: Outcome) -> tuple[str, str]:
        fancy, simple, style = MARKS[outcome.verdict]
        return (fancy if self._screen.has_unicode else simple), "dim" if outcome.known else style


def _beginning(text: str) -> list[str]:
    lines = text.splitlines()
    return [*lines[:ANSWER_LINES], *(["…"] if len(lines) > ANSWER_LINES else [])]
