"""Runs the browser scenarios in a process of their own, and turns their results into outcomes."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chatkey_conform.capabilities import NotApplicable
from chatkey_conform.case import Test
from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.scenario import Scenario, read_scenarios
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.outcome import Outcome
from chatkey_peer.exits import Exit

PAGE: Final = "conform-browser.md"
GROUP: Final = "Browser"
QUIET: Final = ("-q", "-rN", "--tb=no", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Selection:
    """The scenarios to run: those for any widget, the smoke scenarios only, or those whose name contains `words`."""

    any_widget: bool = False
    smoke: bool = False
    words: str = ""

    @property
    def expression(self) -> str:
        """The expression for pytest's option `-k`. The smoke scenarios are always included."""
        named = self.words if re.fullmatch(r"[\w./:\[\]+-]+", self.words) and not self.smoke else ""
        chosen = "smoke" if self.smoke or self.words else ""
        return " and ".join(
            part
            for part in (
                "any_widget" if self.any_widget else "",
                f"({chosen} or {named})" if chosen and named else chosen,
            )
            if part
        )


def run_scenarios(file: Path, selection: Selection, folder: Path | None) -> list[Outcome]:
    """Run the scenarios for a TARGET.toml or a widget.toml. Traces of failures are saved in `folder`.

    Raises `HarnessError` if the scenarios could not start.
    """
    with tempfile.TemporaryDirectory(prefix="chatkey-") as temporary:
        results = Path(temporary) / "results.json"
        saved = (folder or Path(temporary)) / "browser"
        options = ("--target", str(file), "--chatkey-results", str(results), "--output", str(saved.resolve()))
        chosen = ("-k", selection.expression) if selection.expression else ()
        sys.stdout.flush()
        command = (sys.executable, "-m", "chatkey_server", "e2e", *options, *chosen, *QUIET)
        done = subprocess.run(command, check=False)  # noqa: S603 - our own command
        if done.returncode not in {Exit.CLEAN, Exit.FAILED, Exit.NOTHING_JUDGED, INTERRUPTED} or not results.exists():
            raise HarnessError(f"the browser scenarios ended with status {done.returncode}; see the lines above")
        return list(outcomes(read_scenarios(results)))


INTERRUPTED: Final = 2
"""pytest's status if a smoke scenario has stopped the run."""


def outcomes(scenarios: list[Scenario]) -> Iterator[Outcome]:
    for scenario in scenarios:
        test = Test(scenario.id, scenario.title, scenario.sentences, PAGE, GROUP)
        yield Outcome(test, scenario.verdict, _reason(scenario), seconds=scenario.seconds)


def _reason(scenario: Scenario) -> str:
    """Return the reason. If a capability is missing, the reason has the words that cases use."""
    if scenario.verdict is not Verdict.NOT_APPLICABLE:
        return scenario.reason
    names = scenario.reason.rpartition(": ")[2].split(", ")
    return "; ".join(str(NotApplicable(name)) for name in names)
