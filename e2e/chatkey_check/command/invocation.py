"""Runs the checks from the command line, once or after each change of files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

from chatkey_check import checks, reports
from chatkey_check.calls.listed import listed
from chatkey_check.command import watch
from chatkey_check.command.plan import plan
from chatkey_check.command.screen import Screen
from chatkey_check.command.terminal import Terminal
from chatkey_check.model import Report
from chatkey_check.options.table import Given
from chatkey_check.options.target import target
from chatkey_check.reports.exits import status
from chatkey_check.run import Run, opened
from chatkey_check.running import known
from chatkey_check.running.known import Known
from chatkey_check.running.runner import Listener, Selection, report_of
from chatkey_check.target import OptionError, Target
from chatkey_check.wire.http import HttpWire
from chatkey_check.words import plural
from chatkey_peer.exits import Exit


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options of a run, and the target that the options describe."""

    given: Given
    target: Target
    known: Known

    def run(self) -> Exit:
        """Carry out the options, and return the exit status. Raises `OptionError`."""
        if self.given.plan:
            return self.plan()
        self.check_allowed()
        ready = self.with_login_by_hand()
        if self.given.ui:
            return ready.ui()
        return ready.watch() if self.given.watch else ready.once()

    def check_allowed(self) -> None:
        """Raise `OptionError` if the target is another machine and --yes was not given."""
        if not self.target.local and not self.given.yes:
            raise OptionError(
                f"{self.target.host} is not this machine. Show the requests with --plan, then allow them with --yes."
            )

    def with_login_by_hand(self) -> Invocation:
        """If --browser-login was given, let a person log in first."""
        if not (self.target.live and self.target.live.by_hand):
            return self
        from chatkey_check.live.browser.login import logged_in  # noqa: PLC0415 - Playwright is seldom needed

        return replace(self, target=logged_in(self.target))

    def plan(self) -> Exit:
        """Print what a run may send, and every request of a run without failures. Send nothing."""
        made, screen = plan(self.target, self._selection), Screen(sys.stdout)
        screen.say("A run sends these requests and no other, except where answers redirect it:\n")
        for line in listed(self.target):
            screen.indented(str(line), 2)
        screen.say()
        screen.say(f"{plural(len(made.requests), 'request')} if nothing fails. Nothing was sent.\n")
        for (label, text), times in made.lines.items():
            often = f" ({times} times)" if times > 1 else ""
            screen.say((label, "bold"), often)
            screen.say((f"  {text}", "dim"))
        return Exit.CLEAN

    def once(self) -> Exit:
        """Run the checks, write the report, and return the exit status. Raises `OptionError` if writing fails."""
        form, output = self.given.format, self.given.output
        if output is not None and not output.parent.is_dir():
            raise OptionError(f"--output {output}: the folder {output.parent} does not exist.")
        if output is not None and output.is_dir():
            raise OptionError(f"--output {output} is a folder. Add the name of the file.")
        shown = Screen(sys.stdout if form == reports.TERMINAL and output is None else sys.stderr)
        screen = Terminal(shown, total=len(checks.ORDER), verbose=self.given.verbose)
        quiet = form != reports.TERMINAL and output is None and not shown.live
        with opened(self.target, on_wait=screen.waiting) as run:
            report = self._judged(run) if quiet else self._shown(run, screen)
        try:
            self._write(report)
        except OSError as error:
            if output is None:
                raise
            raise OptionError(f"Cannot write --output {output}: {error.strerror or error}") from error
        return status(report, strict=self.given.strict)

    def watch(self) -> Exit:
        """Run the checks, and run the checks again whenever files change, until Ctrl-C."""
        paths = self.given.watch
        missing = [str(path) for path in paths if not path.exists()]
        if missing:
            raise OptionError(f"--watch: these files or folders do not exist: {', '.join(missing)}.")
        screen, last = Screen(sys.stderr), Exit.CLEAN
        try:
            while True:
                before = watch.stamps(paths)
                last = self.once()
                screen.say((f"\n  watching {', '.join(map(str, paths))}; press Ctrl-C to stop", "dim"))
                names = watch.changed(paths, before)
                screen.clear()
                screen.say((f"  changed: {', '.join(names[:3])}", "dim"))
                watch.wait_until_up(lambda: HttpWire(self.target).reach(self.target.url))
        except KeyboardInterrupt:
            return last

    def ui(self) -> Exit:
        """Serve the local page until Ctrl-C. Raises `OptionError` if another option asks for a report."""
        from chatkey_check.ui.desk import Desk  # noqa: PLC0415 - no other run needs it
        from chatkey_check.ui.serve import UiServer  # noqa: PLC0415

        if self.given.watch or self.given.output or self.given.format != reports.TERMINAL:
            raise OptionError("--ui cannot be combined with --watch, --format or --output.")
        with UiServer(Desk(self.target, self._selection)) as server:
            Screen(sys.stdout).say(f"{server.url}\nThe address contains a key: do not share it. Press Ctrl-C to stop.")
            with suppress(KeyboardInterrupt):
                server.serve_forever()
        return Exit.CLEAN

    @property
    def _selection(self) -> Selection:
        return Selection(self.given.only, self.given.skip)

    def _judged(self, run: Run, listener: Listener | None = None) -> Report:
        return report_of(
            run,
            listener=listener,
            known=self.known,
            selection=self._selection,
            require_all=self.given.require_all,
        )

    def _shown(self, run: Run, screen: Terminal) -> Report:
        """Check the endpoint, and show progress and report in the terminal."""
        with closing(screen):
            screen.begin(self.target.url)
            report = self._judged(run, screen)
            screen.end(report)
        return report

    def _write(self, report: Report) -> None:
        form, output = self.given.format, self.given.output
        if form == reports.TERMINAL:
            if output is not None:
                with output.open("w", encoding="utf-8") as file:
                    Terminal(Screen(file, width=100), total=0, verbose=True).end(report)
            return
        text = reports.writer(form)(report)
        if output is None:
            sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        else:
            output.write_text(text, encoding="utf-8")


def read(given: Given) -> Invocation:
    """Read the options of a run. Raises `OptionError`."""
    for option, patterns in (("--only", given.only), ("--skip", given.skip)):
        _check_patterns(option, patterns)
    wanted = target(given)
    excused = known.read(given.known_failures) if given.known_failures else Known()
    return Invocation(given, wanted, excused)


def _check_patterns(option: str, patterns: Sequence[str]) -> None:
    """Refuse a pattern that matches no check. With a mistyped pattern, the run would judge nothing or everything."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in checks.ORDER):
            near = get_close_matches(pattern, checks.ORDER, n=1)
            hint = f"Did you mean {near[0]}?" if near else "--explain without an id lists all checks."
            raise OptionError(f"{option} {pattern}: there is no such check. {hint}")
