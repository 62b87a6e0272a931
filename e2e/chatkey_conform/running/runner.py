"""Runs cases against a target, and gives each case a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

from chatkey_conform.capabilities import CAPABILITIES, NotApplicable
from chatkey_conform.case import Case
from chatkey_conform.data import added_on, scored
from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.transcript import Step
from chatkey_conform.judging.verdict import Broken, OtherLimit, OtherRefusal, Verdict
from chatkey_conform.running.outcome import Outcome, Result, names_of
from chatkey_conform.subject.subject import Subject
from chatkey_conform.subject.world import World

JOBS: Final = 8
MOST_RETRIED: Final = 12
"""Up to this many failing cases run once more, alone, in case the machine or the network was slow."""

JUDGED_LATER: Final = frozenset({Verdict.PASSED, Verdict.FAILED, Verdict.ERROR})
"""The verdicts that do not count if the case is newer than the revision that the target declares."""

SMOKE: Final = "smoke/"
SERVICE: Final = "service"

Told = Callable[[Outcome], None]


@dataclass
class Run:
    """One run. `told` is called with every outcome."""

    world: World
    known: Mapping[str, str] = field(default_factory=dict)
    jobs: int = JOBS
    told: Told = field(default=lambda _: None)

    def judge(self, cases: Sequence[Case]) -> Result:
        """Run the cases. If no smoke case passes, the other cases are not run."""
        begun = time.monotonic()
        smoke, rest = _split(cases, lambda case: case.id.startswith(SMOKE))
        outcomes = [self._told(case) for case in smoke]
        if smoke and not any(outcome.verdict is Verdict.PASSED for outcome in outcomes):
            outcomes += [Outcome(case, Verdict.NOT_RUN, "no smoke case passed") for case in rest]
        else:
            alone, together = _split(rest, lambda case: case.alone)
            with ThreadPoolExecutor(self.jobs) as pool:
                outcomes += pool.map(self._told, together)
            outcomes += [self._told(case) for case in alone]
        outcomes = self._again(outcomes, {case.id: case for case in cases})
        revision = self.world.target.service.revision
        ids = scored(revision)[SERVICE]
        return Result(tuple(outcomes), ids, time.monotonic() - begun, self.known)

    def _told(self, case: Case) -> Outcome:
        outcome = self._judged(case)
        self.told(outcome)
        return outcome

    def _again(self, outcomes: list[Outcome], cases: Mapping[str, Case]) -> list[Outcome]:
        wrong = {Verdict.FAILED, Verdict.KNOWN, Verdict.ERROR}
        if sum(outcome.verdict in wrong for outcome in outcomes) > MOST_RETRIED:
            return outcomes
        return [
            replace(self._judged(cases[outcome.case.id]), tries=2) if outcome.verdict in wrong else outcome
            for outcome in outcomes
        ]

    def _judged(self, case: Case) -> Outcome:
        begun = time.monotonic()
        subject = Subject(self.world)
        verdict, reason, refusal = self._verdict(case, subject)
        steps: tuple[Step, ...] = ()
        if verdict in {Verdict.FAILED, Verdict.ERROR}:
            reason, steps = subject.transcript.masked(reason), tuple(subject.transcript.steps)
        if verdict is Verdict.FAILED and (why := self._why_known(case)):
            verdict, reason = Verdict.KNOWN, f"{why} ({reason})"
        if verdict in JUDGED_LATER and (since := self._counts_from(case)):
            verdict, reason = Verdict.NOT_SCORED, f"scored from {since} on; {reason or 'passed'}"
        return Outcome(case, verdict, reason, steps, time.monotonic() - begun, refusal=refusal)

    def _verdict(self, case: Case, subject: Subject) -> tuple[Verdict, str, OtherRefusal | None]:
        try:
            try:
                subject.needs(*sorted(case.needs))
                case.run(subject)
            finally:
                subject.close()
        except Broken as broken:
            return Verdict.FAILED, str(broken), broken if isinstance(broken, OtherRefusal) else None
        except RecursionError:
            return Verdict.FAILED, "The service sent JSON that is nested too deeply to be read", None
        except (NotApplicable, OtherLimit) as missing:
            return Verdict.NOT_APPLICABLE, str(missing), None
        except HarnessError as error:
            return Verdict.ERROR, str(error), None
        except Exception as error:  # noqa: BLE001 - the suite's own mistake, which must not count against a target
            return Verdict.ERROR, f"an error in the suite: {type(error).__name__}: {error}", None
        return Verdict.PASSED, "", None

    def _counts_from(self, case: Case) -> str:
        """Return the revision or the date from which on a case counts, if it does not count for this target."""
        target = self.world.target
        if case.since > target.service.revision:
            return f"revision {case.since}"
        added = added_on(case.id)
        return added if added > target.date else ""

    def _why_known(self, case: Case) -> str:
        return next((self.known[name] for name in sorted(names_of(case)) if name in self.known), "")


def _split(cases: Iterable[Case], first: Callable[[Case], bool]) -> tuple[list[Case], list[Case]]:
    ordered = list(cases)
    return [case for case in ordered if first(case)], [case for case in ordered if not first(case)]


def missing(outcomes: Iterable[Outcome]) -> dict[str, str]:
    """Return the undeclared capabilities that the cases needed, each with its meaning."""
    told = " ".join(outcome.reason for outcome in outcomes if outcome.verdict is Verdict.NOT_APPLICABLE)
    return {name: meaning for name, meaning in CAPABILITIES.items() if f"not declared: {name} (" in told}
