"""The results of a case, of a sentence, and of a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from chatkey_conform.case import Test
from chatkey_conform.data import contract
from chatkey_conform.judging.transcript import Step
from chatkey_conform.judging.verdict import OtherRefusal, Verdict

JUDGED: Final = frozenset({Verdict.PASSED, Verdict.FAILED, Verdict.KNOWN, Verdict.NOT_STRICT})
WORST_FIRST: Final = (
    Verdict.FAILED,
    Verdict.KNOWN,
    Verdict.ERROR,
    Verdict.NOT_STRICT,
    Verdict.PASSED,
    Verdict.NOT_APPLICABLE,
    Verdict.NOT_RUN,
    Verdict.NOT_SCORED,
)

SCENARIO: Final = "test_"
"""Prefix of the names of browser scenarios. No case of this suite has such a name."""

SEPARATOR: Final = "::"
"""Stands between the file and the name in the id of a browser scenario, and in no id of a case."""


@dataclass(frozen=True)
class Outcome:
    """The result of a case or a browser scenario.

    `reason` says why the case did not pass. `steps` are the evidence of a failure.
    """

    case: Test
    verdict: Verdict
    reason: str = ""
    steps: tuple[Step, ...] = ()
    seconds: float = 0.0
    tries: int = 1
    refusal: OtherRefusal | None = None

    def verdict_on(self, sentence: str, level: str) -> Verdict:
        """Return the verdict on a sentence. A refusal in another way breaks only sentences that specify the way.

        These are the sentences of the profile, and those of part 7 of the contract if the status is another one.
        """
        if self.verdict is not Verdict.FAILED or self.refusal is None or level == "kit":
            return self.verdict
        is_about_status = sentence.startswith("7/") and self.refusal.other_status
        return Verdict.FAILED if is_about_status else Verdict.NOT_STRICT

    def is_on(self, sentence: str) -> bool:
        """Return whether the case judges the sentence, or its failure is charged to the sentence."""
        return sentence in self.case.sentences or (self.refusal is not None and self.refusal.charged == sentence)


@dataclass(frozen=True)
class Sentence:
    """The result for one sentence of the contract."""

    id: str
    level: str
    text: str
    verdict: Verdict
    outcomes: tuple[Outcome, ...] = ()

    @property
    def reason(self) -> str:
        """The reason for the verdict, from the first case with that verdict."""
        return next((one.reason for one in self.outcomes if one.verdict_on(self.id, self.level) is self.verdict), "")


@dataclass(frozen=True)
class Result:
    """The results of a whole run."""

    outcomes: tuple[Outcome, ...]
    scored: frozenset[str]
    seconds: float = 0.0
    known: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The results for all sentences that are scored or that a case names, in the contract's order."""
        return tuple(
            self._sentence(name, entry)
            for name, entry in contract().items()
            if name in self.scored or any(outcome.is_on(name) for outcome in self.outcomes)
        )

    def _sentence(self, name: str, entry: Mapping[str, str]) -> Sentence:
        found = tuple(outcome for outcome in self.outcomes if outcome.is_on(name))
        verdicts = (outcome.verdict_on(name, entry["level"]) for outcome in found)
        verdict = worst(verdicts) if name in self.scored else Verdict.NOT_SCORED
        return Sentence(name, entry["level"], entry["text"], verdict, found)

    @property
    def counts(self) -> Counter[Verdict]:
        """The number of scored sentences with each verdict."""
        return Counter(sentence.verdict for sentence in self.sentences if sentence.id in self.scored)

    @property
    def failed(self) -> list[Sentence]:
        return [sentence for sentence in self.sentences if sentence.verdict is Verdict.FAILED]

    @property
    def unjudged(self) -> list[Sentence]:
        """The scored *must* sentences that were not judged."""
        return [
            sentence
            for sentence in self.sentences
            if sentence.level == "must" and sentence.id in self.scored and sentence.verdict not in JUDGED
        ]

    @property
    def mended(self) -> list[str]:
        """Known failures that no longer fail, or whose case does not exist.

        Names of browser scenarios are reported only if scenarios ran.
        """
        bad = _names(self.of(Verdict.FAILED, Verdict.KNOWN))
        not_judged = contract().keys() - _names(self.outcomes)
        has_scenarios = any(SEPARATOR in outcome.case.id for outcome in self.outcomes)
        return sorted(
            name for name in self.known.keys() - bad - not_judged if has_scenarios or not name.startswith(SCENARIO)
        )

    def of(self, *verdicts: Verdict) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.verdict in verdicts]


def _names(outcomes: Iterable[Outcome]) -> set[str]:
    return {name for outcome in outcomes for name in names_of(outcome.case)}


def names_of(case: Test) -> set[str]:
    """Return the ids under which the file of known failures can list a case or a scenario."""
    _, is_scenario, name = case.id.partition(SEPARATOR)
    return {case.id, *case.sentences, *({name, name.partition("[")[0]} if is_scenario else ())}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first verdict of `WORST_FIRST` that occurs."""
    found = set(verdicts)
    return next((verdict for verdict in WORST_FIRST if verdict in found), Verdict.NOT_RUN)
