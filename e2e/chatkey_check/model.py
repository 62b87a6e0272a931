"""The values of a run: checks, findings and the report. Everything in a report is masked."""

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
"""The groups of checks, in the order in which a developer debugs."""


class Severity(StrEnum):
    """How serious a finding is. A failed `must` is a failure. A failed `should` or `info` is a warning."""

    MUST = "must"
    SHOULD = "should"
    INFO = "info"


class Verdict(StrEnum):
    """How a check ended. `error` means a bug of this program, never of the endpoint."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    BLOCKED = "blocked"
    ERROR = "error"


UNJUDGED: Final = frozenset({Verdict.SKIP, Verdict.BLOCKED})


ESSENTIAL: Final = ("--login ", "--login-b ", "--secret-env", "--provider-id")
"""Options without which checks of the endpoint itself are not judged, so that a run does not end with status 0."""


class Phase(StrEnum):
    """When a check runs. Reports list the checks in the order of the catalogue instead."""

    FIRST = "first"
    LATER = "later"
    """Some time has to pass after the first call, so other checks are judged first."""
    LAST = "last"
    """The check ends the session that was given."""


@dataclass(frozen=True, slots=True)
class Where:
    """The place to change: the claim, the header, or the file and the line in it. Unknown members are None."""

    claim: str | None = None
    header: str | None = None
    file: str | None = None
    """A path on the server, from a traceback, or the address of a page's file."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    If the cause is known, `hint` replaces the hint of the check. `about` contains the calls to show as evidence.
    """

    verdict: Verdict
    message: str = ""
    hint: str | None = None
    about: tuple[Exchange, ...] = ()
    files: tuple[str, ...] = ()
    """Paths of the traces and screenshots that were saved for a failure."""
    where: Where | None = None
    """The place, if it is more exact than the check's usual place."""


@dataclass(frozen=True, slots=True)
class Question:
    """The description of a check for people.

    `section` is a section of the contract or of an RFC, or empty. `sent` and `passes` say in words what is sent and
    what must be answered, and `hint` says what to change. `mistakes` are the usual causes of a failure. `mend` has the
    correct line of code for each language. `needs` are the checks that must pass before this check can be judged.
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
    """A check cannot be judged because something is missing. `option` is the command-line option that supplies it.

    If `by` names a check, that check reports the reason for all others.
    """

    by = ""

    def __init__(self, reason: str, option: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.option = option


class Blocked(Exception):
    """A check cannot be judged because of a problem that another check, `by`, reports."""

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by


class Unusable(Exception):
    """The service or the page cannot be used. The message says why. `about` are the exchanges that show the reason."""

    def __init__(self, message: str, *about: Exchange) -> None:
        super().__init__(message)
        self.about = about


@dataclass(frozen=True, slots=True)
class Service:
    """A chat service.

    `name` is used in messages, `url` is the base address, and `own` says whether the service was started for this run.
    `sdk_url` is the address of the widget script.
    """

    name: str
    url: str
    socket_uri: str
    own: bool
    sdk_url: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One masked call: a curl line that repeats the call, and the beginning of the response."""

    label: str
    curl: str
    response: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one check ended.

    `message` says what was found, or why nothing was found. `hint` says what to change.
    """

    check: Question
    verdict: Verdict
    message: str = ""
    hint: str = ""
    option: str = ""
    """For a skipped check: the option with which it could be judged."""
    blocked_by: str = ""
    """For a blocked check: the id of the check to look at first."""
    evidence: tuple[Evidence, ...] = ()
    files: tuple[str, ...] = ()
    where: Where | None = None
    seconds: float = 0.0
    known: str = ""
    """The reason from the file of known failures, if this check is listed there."""
    left_out: bool = False
    """Whether --only or --skip excluded this check."""

    @property
    def judged(self) -> bool:
        """Whether the check judged the endpoint, with any result."""
        return self.verdict not in UNJUDGED

    @property
    def missed(self) -> bool:
        """Whether this is a `must` that was not judged, although it was not excluded and no other option is missing.

        Only options for what not every site has excuse a check: a page, a logout, ended sessions, a browser.
        """
        must = self.check.severity is Severity.MUST
        excused = bool(self.option) and not self.option.startswith(ESSENTIAL)
        return must and not (self.judged or self.left_out or excused)

    @property
    def counts(self) -> bool:
        """Whether this is a failure that is not listed as a known failure."""
        return self.verdict is Verdict.FAIL and not self.known


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a whole run. `outcomes` contains every check once, in the order of the catalogue."""

    target: str
    versions: Mapping[str, str]
    options: Mapping[str, str]
    """The options that were used, as they were written, with secrets masked."""
    started_at: str
    """Start of the run: ISO 8601, UTC."""
    seconds: float
    waited: float
    """How many of the `seconds` were spent in deliberate waits."""
    sent: Mapping[str, int]
    """What a run may send, line by line, each with the number of requests that it allowed."""
    skew: float | None
    """Seconds by which the endpoint's clock is ahead of ours. None if the endpoint sent no usable `Date`."""
    outcomes: tuple[Outcome, ...]
    stale: tuple[str, ...] = ()
    """Errors in the file of known failures: entries that passed, were not judged, or match no check."""
    limited: bool = False
    """Whether the endpoint refused calls because of a rate limit."""
    require_all: bool = False
    """Whether --require-all was given: every check has to be judged, even if an option for it is missing."""

    def count(self, verdict: Verdict) -> int:
        return sum(outcome.verdict is verdict for outcome in self.outcomes)

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(self.sent.values())

    @property
    def cause(self) -> Outcome | None:
        """The first failure, which should be fixed first."""
        return next((outcome for outcome in self.outcomes if outcome.counts), None)

    @property
    def missed(self) -> tuple[Outcome, ...]:
        """The checks that should have been judged but were not, although no failure explains why.

        If there are such checks, the run proves less than it seems to prove.
        """
        found = {outcome.check.id for outcome in self.outcomes if outcome.counts or outcome.verdict is Verdict.ERROR}
        gaps = (outcome for outcome in self.outcomes if not outcome.judged and outcome.blocked_by not in found)
        return tuple(gap for gap in gaps if gap.missed or (self.require_all and not gap.left_out))

    def of(self, check_id: str) -> Outcome:
        """Return the outcome of one check. Raises `KeyError`."""
        for outcome in self.outcomes:
            if outcome.check.id == check_id:
                return outcome
        raise KeyError(check_id)
