"""What a check is, what it found, and the report of a run. Everything in a report is masked and fit to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from chatkey_check.exchange import Exchange

PRECONDITIONS: Final = "Preconditions"
ANSWERS: Final = "Can it answer at all"
BOUND: Final = "Is it bound to this browser"
PERSON: Final = "Is it the right person"
LIFETIME: Final = "Does it live as long as it should"
NOBODY: Final = "Nobody logged in"
BAD_REQUESTS: Final = "Bad requests"
LEAKS: Final = "Does it leak"
END_TO_END: Final = "End to end"
GROUPS: Final = (PRECONDITIONS, ANSWERS, BOUND, PERSON, LIFETIME, NOBODY, BAD_REQUESTS, LEAKS, END_TO_END)
"""The groups in the order in which one debugs."""


class Severity(StrEnum):
    """What a finding means: `must` fails, `should` and `info` warn."""

    MUST = "must"
    SHOULD = "should"
    INFO = "info"


class Verdict(StrEnum):
    """How a check ended. `error` is a fault of this program, never of the endpoint."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    BLOCKED = "blocked"
    ERROR = "error"


UNJUDGED: Final = frozenset({Verdict.SKIP, Verdict.BLOCKED})


class Phase(StrEnum):
    """When a check runs; it is reported in the catalogue's order all the same."""

    FIRST = "first"
    LATER = "later"
    """Needs time to have passed since the first call: after all that can be judged meanwhile."""
    LAST = "last"
    """Ends the session it was given."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check says. `hint` replaces the check's own where the cause is known; `about` are the calls it shows."""

    verdict: Verdict
    message: str = ""
    hint: str | None = None
    about: tuple[Exchange, ...] = ()
    files: tuple[str, ...] = ()
    """What was kept of a failure: paths of traces and screenshots."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a check asks of an endpoint, as people are told it.

    `section` is the contract's, or the RFC's, or empty. `sent` and `passes` say in words what goes out and what must
    come back, `hint` what to change. `mistakes` are what usually causes a failure, `mend` is the line to write, by
    language. `needs` are the checks without which this one cannot be judged.
    """

    id: str
    group: str
    severity: Severity
    section: str
    sent: str
    passes: str
    hint: str
    why: str
    mistakes: tuple[str, ...]
    mend: Mapping[str, str] = field(hash=False)
    needs: tuple[str, ...]
    phase: Phase


class Skipped(Exception):
    """A check cannot be judged with what was given. `option` is what would allow it, as one writes it."""

    def __init__(self, reason: str, option: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.option = option


class Blocked(Exception):
    """A check cannot be judged because of what another check is about."""

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by


class Unusable(Exception):
    """The service or the page cannot be used; the message says why, and `about` are the answers that show it."""

    def __init__(self, message: str, *about: Exchange) -> None:
        super().__init__(message)
        self.about = about


@dataclass(frozen=True, slots=True)
class Service:
    """A chat service: what messages call it, its base address, its socket, whether it was started for this run, and
    where the script of its widget is."""

    name: str
    url: str
    socket_uri: str
    own: bool
    sdk_url: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One call, masked: a curl line that repeats it, and the beginning of what came back."""

    label: str
    curl: str
    response: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one check ended. `message` says what was found, or why nothing was; `hint` what to change."""

    check: Question
    verdict: Verdict
    message: str = ""
    hint: str = ""
    option: str = ""
    """For a skip: the option that would allow the check."""
    blocked_by: str = ""
    """For a blocked check: the id of the check to look at first."""
    evidence: tuple[Evidence, ...] = ()
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    known: str = ""
    """The reason given in the file of known failures, where this one is listed there."""
    left_out: bool = False
    """Whether it was not to be judged: --only or --skip say so."""

    @property
    def judged(self) -> bool:
        """Whether the endpoint was judged, whatever came of it."""
        return self.verdict not in UNJUDGED

    @property
    def missed(self) -> bool:
        """Whether this is a `must` that was not judged though nothing was missing: no option would allow it."""
        must = self.check.severity is Severity.MUST
        return must and not (self.judged or self.left_out or self.option)

    @property
    def counts(self) -> bool:
        """Whether this is a failure nobody knew of."""
        return self.verdict is Verdict.FAIL and not self.known


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run. `outcomes` holds every check once, in the catalogue's order."""

    target: str
    versions: Mapping[str, str]
    options: Mapping[str, str]
    """The options used, as they were written; what was secret is masked."""
    started_at: str
    """ISO 8601, UTC."""
    seconds: float
    waited: float
    """How much of `seconds` was spent in declared waits."""
    requests: int
    skew: float | None
    """Seconds by which the endpoint's clock is ahead of ours; None when it did not say."""
    outcomes: tuple[Outcome, ...]
    stale: tuple[str, ...] = ()
    """What is wrong with the file of known failures: entries that passed, or that nothing belongs to."""
    require_all: bool = False
    """Whether every check had to be judged, those too for which an option is missing."""

    def count(self, verdict: Verdict) -> int:
        """Return how many checks ended so."""
        return sum(outcome.verdict is verdict for outcome in self.outcomes)

    @property
    def cause(self) -> Outcome | None:
        """The first failure: what to look at before anything else."""
        return next((outcome for outcome in self.outcomes if outcome.counts), None)

    @property
    def missed(self) -> tuple[Outcome, ...]:
        """What had to be judged and was not, and no failure says why: the run says less than it looks."""
        found = {outcome.check.id for outcome in self.outcomes if outcome.counts or outcome.verdict is Verdict.ERROR}
        gaps = (outcome for outcome in self.outcomes if not outcome.judged and outcome.blocked_by not in found)
        return tuple(gap for gap in gaps if gap.missed or (self.require_all and not gap.left_out))

    def of(self, check_id: str) -> Outcome:
        """Return the outcome of one check. Raises `KeyError`."""
        for outcome in self.outcomes:
            if outcome.check.id == check_id:
                return outcome
        raise KeyError(check_id)
