"""What came of a case, of a sentence, and of a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from chatkey_conform.case import Case
from chatkey_conform.data import contract
from chatkey_conform.judging.transcript import Step
from chatkey_conform.judging.verdict import Verdict

JUDGED: Final = frozenset({Verdict.PASSED, Verdict.FAILED, Verdict.KNOWN})
WORST_FIRST: Final = (
    Verdict.FAILED,
    Verdict.KNOWN,
    Verdict.ERROR,
    Verdict.PASSED,
    Verdict.NOT_APPLICABLE,
    Verdict.NOT_RUN,
    Verdict.NOT_SCORED,
)

SCENARIO: Final = "test_"
"""How the names of scenarios begin; no case of ours has such a name."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case. `reason` is why it is not passed; `steps` is the evidence of a failure."""

    case: Case
    verdict: Verdict
    reason: str = ""
    steps: tuple[Step, ...] = ()
    seconds: float = 0.0
    tries: int = 1


@dataclass(frozen=True)
class Sentence:
    """What came of a sentence of the contract."""

    id: str
    level: str
    text: str
    verdict: Verdict
    outcomes: tuple[Outcome, ...] = ()

    @property
    def reason(self) -> str:
        """Why it is what it is, by the first case of that verdict."""
        return next((outcome.reason for outcome in self.outcomes if outcome.verdict is self.verdict), "")


@dataclass(frozen=True)
class Result:
    """A whole run."""

    outcomes: tuple[Outcome, ...]
    scored: frozenset[str]
    seconds: float = 0.0
    known: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """What came of each sentence of the contract that is scored, or that a case names, in the contract's order."""
        return tuple(
            self._sentence(name, entry)
            for name, entry in contract().items()
            if name in self.scored or any(name in outcome.case.sentences for outcome in self.outcomes)
        )

    def _sentence(self, name: str, entry: Mapping[str, str]) -> Sentence:
        found = tuple(outcome for outcome in self.outcomes if name in outcome.case.sentences)
        verdict = worst(outcome.verdict for outcome in found) if name in self.scored else Verdict.NOT_SCORED
        return Sentence(name, entry["level"], entry["text"], verdict, found)

    @property
    def counts(self) -> Counter[Verdict]:
        """How many scored sentences have which verdict."""
        return Counter(sentence.verdict for sentence in self.sentences if sentence.id in self.scored)

    @property
    def failed(self) -> list[Sentence]:
        """The sentences that fail."""
        return [sentence for sentence in self.sentences if sentence.verdict is Verdict.FAILED]

    @property
    def unjudged(self) -> list[Sentence]:
        """The *must* sentences that are scored and were not judged."""
        return [
            sentence
            for sentence in self.sentences
            if sentence.level == "must" and sentence.id in self.scored and sentence.verdict not in JUDGED
        ]

    @property
    def mended(self) -> list[str]:
        """Known failures that pass now, or that are not there; those of scenarios in a browser are told by these."""
        bad = _names(self.of(Verdict.FAILED, Verdict.KNOWN))
        of_a_browser = contract().keys() - _names(self.outcomes)
        return sorted(name for name in self.known.keys() - bad - of_a_browser if not name.startswith(SCENARIO))

    def of(self, *verdicts: Verdict) -> list[Outcome]:
        """Return the cases with these verdicts."""
        return [outcome for outcome in self.outcomes if outcome.verdict in verdicts]


def _names(outcomes: Iterable[Outcome]) -> set[str]:
    return {name for outcome in outcomes for name in names_of(outcome.case)}


def names_of(case: Case) -> set[str]:
    """Return the names under which a known failure may speak of a case."""
    return {case.id, *case.sentences}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first of `WORST_FIRST` that is there."""
    found = set(verdicts)
    return next((verdict for verdict in WORST_FIRST if verdict in found), Verdict.NOT_RUN)
