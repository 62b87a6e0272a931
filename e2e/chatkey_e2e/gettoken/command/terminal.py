"""What a run says in the terminal: as it goes, and at its end."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.rule import Rule
from rich.text import Text

from chatkey_e2e.gettoken.model import GROUPS, Outcome, Question, Report, Verdict
from chatkey_e2e.gettoken.reports import summary
from chatkey_e2e.gettoken.reports.summary import FINDINGS, WORDS

PLAIN: Final[dict[str, Any]] = {"highlight": False, "markup": False}
MARKS: Final = {
    Verdict.PASS: ("✓", "+", "green"),
    Verdict.WARN: ("!", "!", "bold yellow"),
    Verdict.FAIL: ("✗", "x", "bold red"),
    Verdict.SKIP: ("○", "o", "dim"),
    Verdict.BLOCKED: ("·", ".", "dim"),
    Verdict.ERROR: ("?", "?", "bold magenta"),
}
GROUP_WIDTH: Final = max(map(len, GROUPS)) + 2
ANSWER_LINES: Final = 14
IDS_SHOWN: Final = 3


class Terminal:
    """Hears a run and shows it: a bar while it runs, each group when it is complete. To a pipe, findings only."""

    def __init__(self, console: Console, *, total: int, verbose: bool = False) -> None:
        self._console = console
        self._live = console.is_terminal
        self._groups = self._live or verbose
        self._verbose = verbose
        self._fancy = "utf" in console.encoding.lower()
        self._group: list[Outcome] = []
        self._cause: Outcome | None = None
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24, style="dim", complete_style="cyan", finished_style="cyan"),
            MofNCompleteColumn(),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task = self._progress.add_task("", total=total)

    def begin(self, target: str, given: str) -> None:
        """Say what is checked, and with what."""
        if self._live:
            self._say()
            self._say("  ", ("chatkey check ", "bold"), (target, "bold cyan"))
            self._say("  ", (given, "dim"))
            self._say()
            self._progress.start()

    def started(self, check: Question) -> None:
        """Name the check in the bar."""
        self._progress.update(self._task, description=check.id)

    def waiting(self, seconds: float, why: str) -> None:
        """Say in the bar that this is a wait."""
        self._progress.update(self._task, description=f"waiting {seconds:.1f} s: {why}")

    def finished(self, outcome: Outcome) -> None:
        """Show the group once it is complete; to a pipe, what was found at once. The first failure comes last."""
        self._progress.advance(self._task)
        if self._cause is None and outcome.counts:
            self._cause = outcome
        if self._groups:
            if self._group and self._group[-1].check.group != outcome.check.group:
                self._show_group()
            self._group.append(outcome)
        elif outcome.verdict in FINDINGS:
            self._finding(outcome)

    def close(self) -> None:
        """Take the bar away, however the run ended."""
        self._progress.stop()

    def replay(self, report: Report) -> None:
        """Show a run that is over."""
        for outcome in report.outcomes:
            self.finished(outcome)
        self.end(report)

    def end(self, report: Report) -> None:
        """Show the rest, the cause, and the summary."""
        if self._group:
            self._show_group()
        self._progress.stop()
        if self._cause is not None:
            self._show_cause(self._cause)
        for line in report.stale:
            self._say("  ", ("known failures: ", "bold red"), line)
        self._show_options(report)
        self._show_summary(report)

    def _show_group(self) -> None:
        outcomes, self._group = self._group, []
        marks = [self._mark(outcome) for outcome in outcomes]
        said = summary.told(outcomes)
        self._say("  ", (f"{outcomes[0].check.group:<{GROUP_WIDTH}}", "bold"), *marks, (f"   {said}", "dim"))
        for outcome in outcomes:
            if outcome.verdict in FINDINGS:
                self._finding(outcome)
            elif self._verbose:
                self._line(outcome)

    def _line(self, outcome: Outcome) -> None:
        self._say("    ", self._mark(outcome), f" {outcome.check.id}", (f"  {summary.reason(outcome)}", "dim"))

    def _finding(self, outcome: Outcome) -> None:
        title = ("    ", self._mark(outcome), (f" {outcome.check.id}", MARKS[outcome.verdict][2]))
        if outcome is self._cause:
            self._say(*title, ("  start here: see below", "dim"))
            return
        self._say(*title, (f"  known: {outcome.known}" if outcome.known else "", "dim"))
        self._indented(outcome.message, 6)
        self._indented(self._advice(outcome), 6, "cyan")

    def _show_cause(self, outcome: Outcome) -> None:
        """Show the first failure with all there is to it; the curl line is one line, to be copied."""
        section = f" · {summary.source(outcome.check)}" if outcome.check.section else ""
        self._say()
        if self._live:
            title = Text(f"Start here: {outcome.check.id}{section}", "bold red")
            self._console.print(Rule(title, style="red", align="left"))
        else:
            self._say((f"{MARKS[Verdict.FAIL][not self._fancy]} {outcome.check.id}{section}", "bold red"))
        self._indented(outcome.message, 2, "bold")
        self._indented(self._advice(outcome), 2, "cyan")
        self._indented(outcome.check.why, 2, "dim")
        for seen in outcome.evidence:
            self._say()
            self._say("  ", (f"{seen.label}, {seen.seconds * 1000:.0f} ms", "dim"))
            self._say("  ", (seen.curl, "green"))
            for line in _beginning(seen.response):
                self._say("    ", (line, "dim"))
        for file in outcome.files:
            self._say("  kept: ", file)

    def _show_options(self, report: Report) -> None:
        """Say what more could be judged, and with which option."""
        more = summary.options(report)
        if not more:
            return
        self._say()
        self._say(("  More can be judged with", "bold"))
        width = max(map(len, more))
        for option, ids in more.items():
            rest = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
            self._say("    ", f"{option:<{width}}  ", (", ".join(ids[:IDS_SHOWN]) + rest, "dim"))

    def _show_summary(self, report: Report) -> None:
        words = [(f"{count} {WORDS[verdict]}   ", MARKS[verdict][2]) for verdict, count in summary.counted(report)]
        self._say()
        self._say("  ", *words, (summary.duration(report), "dim"))

    def _advice(self, outcome: Outcome) -> str:
        return f"{'→' if self._fancy else '->'} {outcome.hint}" if outcome.hint else ""

    def _mark(self, outcome: Outcome) -> tuple[str, str]:
        fancy, simple, style = MARKS[outcome.verdict]
        return (fancy if self._fancy else simple), "dim" if outcome.known else style

    def _say(self, *parts: str | tuple[str, str]) -> None:
        """Print one line, however long."""
        self._console.print(Text.assemble(*parts), soft_wrap=True, **PLAIN)

    def _indented(self, text: str, indent: int, style: str = "") -> None:
        """Print prose: wrapped for a person who watches, one line for a pipe."""
        if not text:
            return
        if self._live:
            self._console.print(Padding(Text(text, style), (0, 2, 0, indent)), **PLAIN)
        else:
            self._say(" " * indent, (text, style))


def _beginning(text: str) -> list[str]:
    lines = text.splitlines()
    return [*lines[:ANSWER_LINES], *(["…"] if len(lines) > ANSWER_LINES else [])]
