"""What a run says in the terminal: as it goes, and at its end."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from chatkey_e2e.gettoken.findings import plural
from chatkey_e2e.gettoken.model import GROUPS, Check, Outcome, Report, Verdict

PLAIN: Final[dict[str, Any]] = {"highlight": False, "markup": False}
MARKS: Final = {
    Verdict.PASS: ("✓", "+", "green"),
    Verdict.WARN: ("!", "!", "yellow"),
    Verdict.FAIL: ("✗", "x", "bold red"),
    Verdict.SKIP: ("○", "o", "dim"),
    Verdict.BLOCKED: ("·", ".", "dim"),
    Verdict.ERROR: ("?", "?", "bold magenta"),
}
WORDS: Final = {
    Verdict.PASS: "passed",
    Verdict.WARN: "to be improved",
    Verdict.FAIL: "failed",
    Verdict.SKIP: "not judged",
    Verdict.BLOCKED: "blocked",
    Verdict.ERROR: "error of ours",
}
SPEAKING: Final = frozenset({Verdict.WARN, Verdict.FAIL, Verdict.ERROR})
GROUP_WIDTH: Final = max(map(len, GROUPS)) + 2
ANSWER_LINES: Final = 14


class Terminal:
    """Hears a run and shows it: a bar while it runs, each group when it is complete. To a pipe, findings only."""

    def __init__(self, console: Console, *, total: int, verbose: bool = False) -> None:
        self._console = console
        self._total = total
        self._verbose = verbose
        self._live = console.is_terminal
        self._fancy = "utf" in console.encoding.lower()
        self._group: list[Outcome] = []
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task = self._progress.add_task("", total=total)

    def begin(self, target: str, given: str) -> None:
        """Say what is checked, and with what."""
        if self._live:
            self._console.print()
            self._console.print(Text.assemble(("  chatkey check  ", "bold"), (target, "bold cyan")), **PLAIN)
            self._console.print(Padding(Text(given, "dim"), (0, 0, 1, 2)), **PLAIN)
            self._progress.start()

    def started(self, check: Check) -> None:
        """Name the check in the bar."""
        self._progress.update(self._task, description=check.id)

    def waiting(self, seconds: float, why: str) -> None:
        """Say in the bar that this is a wait."""
        self._progress.update(self._task, description=f"waiting {seconds:.1f} s: {why}")

    def finished(self, outcome: Outcome) -> None:
        """Show the group once it is complete, or what was found at once where nobody watches."""
        self._progress.advance(self._task)
        if not self._live and not self._verbose:
            if outcome.verdict in SPEAKING:
                self._finding(outcome)
            return
        if self._group and self._group[-1].check.group != outcome.check.group:
            self._show_group()
        self._group.append(outcome)

    def end(self, report: Report) -> None:
        """Show the rest, the cause, and the summary."""
        if self._group:
            self._show_group()
        self._progress.stop()
        cause = report.cause
        if cause is not None:
            self._console.print()
            self._console.print(self._cause(cause))
        for line in report.stale:
            self._console.print(Text.assemble(("known failures: ", "bold red"), line), soft_wrap=True, **PLAIN)
        self._options(report)
        self._console.print()
        self._console.print(self._summary(report), soft_wrap=True, **PLAIN)

    def replay(self, report: Report) -> None:
        """Show a run that is over."""
        for outcome in report.outcomes:
            self.finished(outcome)
        self.end(report)

    def _show_group(self) -> None:
        outcomes, self._group = self._group, []
        line = Text(f"  {outcomes[0].check.group:<{GROUP_WIDTH}}", "bold")
        for outcome in outcomes:
            line.append(*self._mark(outcome))
        said = [f"{len(of)} {WORDS[v]}" for v in Verdict if (of := [o for o in outcomes if o.verdict is v])]
        line.append(f"   {', '.join(said)}", "dim")
        self._console.print(line, soft_wrap=True, **PLAIN)
        for outcome in outcomes:
            if outcome.verdict in SPEAKING:
                self._finding(outcome)
            elif self._verbose:
                self._line(outcome)

    def _line(self, outcome: Outcome) -> None:
        said = f"look at {outcome.blocked_by} first" if outcome.blocked_by else outcome.message
        option = f" ({outcome.option})" if outcome.option else ""
        parts = Text.assemble("    ", self._mark(outcome), f" {outcome.check.id}", (f"  {said}{option}", "dim"))
        self._console.print(parts, soft_wrap=True, **PLAIN)

    def _finding(self, outcome: Outcome) -> None:
        style = MARKS[outcome.verdict][2]
        known = f"  (known: {outcome.known})" if outcome.known else ""
        title = Text.assemble("    ", self._mark(outcome), (f" {outcome.check.id}", style), (known, "dim"))
        self._console.print(title, soft_wrap=True, **PLAIN)
        self._console.print(Padding(Text(outcome.message), (0, 0, 0, 6)), soft_wrap=not self._live, **PLAIN)
        if outcome.hint:
            arrow = "→" if self._fancy else "->"
            self._console.print(
                Padding(Text(f"{arrow} {outcome.hint}", "cyan"), (0, 0, 0, 6)), soft_wrap=not self._live, **PLAIN
            )

    def _cause(self, outcome: Outcome) -> Panel:
        parts: list[RenderableType] = [Text(outcome.message, "bold"), Text(outcome.hint, "cyan")]
        parts.append(Text(outcome.check.why, "dim"))
        for seen in outcome.evidence:
            parts += [Text(f"\n{seen.label}, {seen.seconds * 1000:.0f} ms", "dim"), Text(seen.curl, "green")]
            parts.append(Text(_beginning(seen.response)))
        parts += [Text(f"kept: {file}", "dim") for file in outcome.files]
        section = f", contract {outcome.check.section}" if outcome.check.section[:1].isdigit() else ""
        return Panel(
            Group(*parts),
            title=Text(f" Start here: {outcome.check.id}{section} ", "bold red"),
            title_align="left",
            border_style="red",
            padding=(1, 2),
        )

    def _options(self, report: Report) -> None:
        """Say what more could be judged, and with which option."""
        more: dict[str, list[str]] = {}
        for outcome in report.outcomes:
            if outcome.verdict is Verdict.SKIP and outcome.option:
                more.setdefault(outcome.option, []).append(outcome.check.id)
        if not more:
            return
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(style="dim")
        for option, ids in more.items():
            shown = ", ".join(ids[:4]) + (f" and {len(ids) - 4} more" if len(ids) > 4 else "")
            table.add_row(Text(f"  {option}"), Text(shown))
        self._console.print()
        self._console.print(Text("  More can be judged with", "bold"), **PLAIN)
        self._console.print(table, **PLAIN)

    def _summary(self, report: Report) -> Text:
        line = Text("  ")
        for verdict in Verdict:
            count = report.count(verdict)
            if count:
                line.append(f"{count} {WORDS[verdict]}", MARKS[verdict][2]).append("  ")
        waited = f", {report.waited:.1f} s of them waiting" if report.waited >= 0.05 else ""
        line.append(f"{plural(report.requests, 'request')} in {report.seconds:.1f} s{waited}", "dim")
        return line

    def _mark(self, outcome: Outcome) -> tuple[str, str]:
        fancy, simple, style = MARKS[outcome.verdict]
        return (fancy if self._fancy else simple), "dim red" if outcome.known else style


def _beginning(text: str) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[:ANSWER_LINES], *(["…"] if len(lines) > ANSWER_LINES else [])])
