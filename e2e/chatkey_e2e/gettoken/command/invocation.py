"""One run from the command line, or one after the other while files change."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from chatkey_e2e.gettoken import checks, reports
from chatkey_e2e.gettoken.calls.shared import Calls
from chatkey_e2e.gettoken.command import watch
from chatkey_e2e.gettoken.command.terminal import PLAIN, Terminal
from chatkey_e2e.gettoken.evidence.shown import curl
from chatkey_e2e.gettoken.exchange import Request
from chatkey_e2e.gettoken.judging.findings import plural
from chatkey_e2e.gettoken.live.planned import PlannedLive
from chatkey_e2e.gettoken.model import Report
from chatkey_e2e.gettoken.reports.exits import Exit, status
from chatkey_e2e.gettoken.running.known import Known
from chatkey_e2e.gettoken.running.runner import Selection, run
from chatkey_e2e.gettoken.target import OptionError, Target
from chatkey_e2e.gettoken.wire.http import HttpWire
from chatkey_e2e.gettoken.wire.planned import PlanClock, PlanWire

JKT: Final = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")


@dataclass(frozen=True, slots=True)
class Run:
    """A target, and how it is judged and reported."""

    target: Target
    known: Known
    selection: Selection
    strict: bool = False
    form: str = reports.TERMINAL
    output: Path | None = None
    verbose: bool = False

    def check_allowed(self, *, yes: bool) -> None:
        """Refuse to send anything to a host that is not this machine, unless that was allowed."""
        if not self.target.local and not yes:
            raise OptionError(
                f"{self.target.host} is not this machine. Look at the requests with --plan, then allow them with --yes."
            )

    def with_login_by_hand(self) -> Run:
        """Let a person log in first, where that was asked for."""
        if not (self.target.live and self.target.live.by_hand):
            return self
        from chatkey_e2e.gettoken.live.browser.login import logged_in  # noqa: PLC0415 - Playwright is seldom needed

        return replace(self, target=logged_in(self.target))

    def plan(self) -> Exit:
        """Print every request a clean run sends, and send none."""
        clock, console = PlanClock(), Console()
        wire = PlanWire(self.target, now=clock.now)
        with Calls(self.target, wire=wire, now=clock.now, sleep=clock.sleep) as calls:
            calls.live = PlannedLive(calls)
            run(calls, selection=self.selection)
            console.print(f"{plural(len(wire.sent), 'request')}, if nothing fails; none is sent now.\n", **PLAIN)
            for (label, line), times in _counted(wire.sent, self.target, calls).items():
                often = f" ({times} times)" if times > 1 else ""
                console.print(Text.assemble((label, "bold"), often), soft_wrap=True, **PLAIN)
                console.print(Text(f"  {line}", "dim"), soft_wrap=True, **PLAIN)
        return Exit.CLEAN

    def once(self) -> Exit:
        """Check, report, and return the exit status. Raises `OptionError` where the report cannot be written."""
        if self.output is not None and not self.output.parent.is_dir():
            raise OptionError(f"--output {self.output}: there is no folder {self.output.parent}.")
        console = Console() if self.form == reports.TERMINAL and self.output is None else Console(stderr=True)
        screen = Terminal(console, total=len(checks.ORDER), verbose=self.verbose)
        quiet = self.form != reports.TERMINAL and self.output is None and not console.is_terminal
        with Calls(self.target) as calls:
            if quiet:
                report = run(calls, known=self.known, selection=self.selection)
            else:
                calls.ending.callback(screen.close)
                screen.begin(self.target.url, self._given())
                report = run(calls, listener=screen, known=self.known, selection=self.selection)
                screen.end(report)
        self._write(report)
        return status(report, strict=self.strict)

    def watch(self, paths: Sequence[Path]) -> Exit:
        """Check, and check again whenever files change, until Ctrl-C."""
        missing = [str(path) for path in paths if not path.exists()]
        if missing:
            raise OptionError(f"--watch {', '.join(missing)}: there is no such file or folder.")
        console, last = Console(stderr=True), Exit.CLEAN
        try:
            while True:
                before = watch.stamps(paths)
                last = self.once()
                console.print(Text(f"\n  watching {', '.join(map(str, paths))}; Ctrl-C ends it", "dim"), **PLAIN)
                names = watch.changed(paths, before)
                console.clear()
                console.print(Text(f"  changed: {', '.join(names[:3])}", "dim"), **PLAIN)
                watch.wait_until_up(lambda: HttpWire(self.target).reach(self.target.url))
        except KeyboardInterrupt:
            return last

    def _given(self) -> str:
        """Return what the run has to go by."""
        names = {
            "--provider-id": "provider id",
            "--login": "login",
            "--login-url": "login form",
            "--login-b": "second login",
        }
        have = ["secret"] if self.target.secret else []
        have += [name for option, name in names.items() if option in self.target.shown]
        return f"with {', '.join(have)}" if have else "with nothing but the address"

    def _write(self, report: Report) -> None:
        if self.form == reports.TERMINAL:
            if self.output is not None:
                with self.output.open("w", encoding="utf-8") as file:
                    Terminal(Console(file=file, width=100), total=0, verbose=True).replay(report)
            return
        text = reports.writer(self.form)(report)
        if self.output is None:
            sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        else:
            self.output.write_text(text, encoding="utf-8")


def _counted(sent: Sequence[Request], target: Target, calls: Calls) -> Counter[tuple[str, str]]:
    """Return labels and curl lines with how often each is sent; the jkt, another one each time, is left out."""
    lines = ((request.label, curl(request, target, calls.masks)) for request in sent)
    return Counter((label, JKT.sub("…", line)) for label, line in lines)
