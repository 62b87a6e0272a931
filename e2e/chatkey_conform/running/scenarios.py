"""Runs the browser scenarios in a process of their own, and turns their results into outcomes."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from chatkey_conform.capabilities import NotApplicable
from chatkey_conform.case import Test
from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.scenario import REFUSALS, Scenario, read_scenarios
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.outcome import SEPARATOR, Outcome
from chatkey_conform.running.runner import MOST_RETRIED
from chatkey_peer.exits import Exit

PAGE: Final = "conform-browser.md"
GROUP: Final = "Browser"
SOON: Final = 25.0
"""A run that the smoke scenarios end later is not repeated: nobody waits for a minute to learn that nothing works."""
QUIET: Final = ("-q", "-rN", "--tb=no", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Selection:
    """The scenarios to run: those for any widget, the smoke scenarios only, or those whose name contains `words`."""

    any_widget: bool = False
    smoke: bool = False
    words: str = ""
    names: tuple[str, ...] = ()
    """Run exactly these scenarios, whatever else is selected."""

    @property
    def expression(self) -> str:
        """The expression for pytest's option `-k`. Without `names`, the smoke scenarios are always included."""
        if self.names:
            return " or ".join(self.names)
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

    If a few scenarios fail, they run once more, in case the machine was slow. So does a run that the smoke scenarios
    have ended soon. Raises `HarnessError` if the scenarios could not start.
    """
    begun = time.monotonic()
    first = run_once(file, selection, folder)
    wrong = [outcome for outcome in first if outcome.verdict in {Verdict.FAILED, Verdict.ERROR}]
    names = tuple(sorted({name_of(outcome) for outcome in wrong} - {""}))
    has_ended_early = any(outcome.verdict is Verdict.NOT_RUN for outcome in first)
    if not names or len(wrong) > MOST_RETRIED or (has_ended_early and time.monotonic() - begun > SOON):
        return first
    again = run_once(file, selection if has_ended_early else replace(selection, names=names), folder)
    second = {outcome.case.id: replace(outcome, tries=2) for outcome in again}
    repeated = first if has_ended_early else [outcome for outcome in wrong if name_of(outcome)]
    kept = [outcome for outcome in first if outcome.case.id in second or not outcome.case.id.startswith(REFUSALS)]
    return [second.get(outcome.case.id, outcome) if outcome in repeated else outcome for outcome in kept]


def name_of(outcome: Outcome) -> str:
    """Return the name of the scenario's function. What was found besides the scenarios has none."""
    return outcome.case.id.partition(SEPARATOR)[2].partition("[")[0]


def run_once(file: Path, selection: Selection, folder: Path | None) -> list[Outcome]:
    """Run the scenarios once, and return their results. Raises `HarnessError` if they could not start."""
    with tempfile.TemporaryDirectory(prefix="chatkey-") as temporary:
        results = Path(temporary) / "results.json"
        saved = (folder or Path(temporary)) / "browser"
        options = ("--target", str(file), "--chatkey-results", str(results), "--output", str(saved.resolve()))
        chosen = ("-k", selection.expression) if selection.expression else ()
        sys.stdout.flush()
        command = (sys.executable, "-m", "chatkey", "e2e", *options, *chosen, *QUIET)
        done = subprocess.run(command, check=False)  # noqa: S603 - our own command
        if done.returncode not in {Exit.CLEAN, Exit.FAILED, Exit.NOTHING_JUDGED, INTERRUPTED} or not results.exists():
            raise HarnessError(f"the browser scenarios ended with status {done.returncode}; see the lines above")
        return list(outcomes(read_scenarios(results)))


def list_scenarios(words: str = "") -> list[Scenario]:
    """Return the scenarios for any widget whose name contains the words, and run none."""
    with tempfile.TemporaryDirectory(prefix="chatkey-") as temporary:
        results = Path(temporary) / "results.json"
        options = ("--list", "--chatkey-results", str(results), "-k", "any_widget", *QUIET)
        command = (sys.executable, "-m", "chatkey", "e2e", *options)
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
        return [scenario for scenario in read_scenarios(results) if words.lower() in scenario.id.lower()]


INTERRUPTED: Final = 2
"""pytest's status if a smoke scenario has stopped the run."""


def outcomes(scenarios: list[Scenario]) -> Iterator[Outcome]:
    for scenario in scenarios:
        test = Test(scenario.id, scenario.title, scenario.sentences, PAGE, GROUP)
        yield Outcome(test, scenario.verdict, _reason(scenario), scenario.steps, scenario.seconds)


def _reason(scenario: Scenario) -> str:
    """Return the reason. If a capability is missing, the reason has the words that cases use."""
    if scenario.verdict is not Verdict.NOT_APPLICABLE:
        return scenario.reason
    names = scenario.reason.rpartition(": ")[2].split(", ")
    return "; ".join(str(NotApplicable(name)) for name in names)
