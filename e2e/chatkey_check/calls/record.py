"""Records which calls a run made, which calls it repeated, and how long it waited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from chatkey_check.exchange import BUSY, TOO_MANY, Exchange, moment

MAX_SKEW: Final = 86_400.0
"""A clock difference in seconds. A `Date` that is further off than a day is ignored."""

REFUSALS: Final = 6
"""Number of equal refusals in a row after which the endpoint may refuse everything."""
BANS: Final = frozenset({403, 406, 418, TOO_MANY, 451})

_none: Callable[[], list[Exchange]] = list


@dataclass(frozen=True, slots=True)
class Record:
    """Lists of calls. Calls are only ever added, so that all threads of a run can add to the lists."""

    log: list[Exchange] = field(default_factory=_none)
    flaky: list[Exchange] = field(default_factory=_none)
    """Calls that failed, but succeeded when they were repeated."""
    crowded: list[Exchange] = field(default_factory=_none)
    """Calls that failed while other calls were in progress, but succeeded alone. There may have been too many calls."""
    overrun: list[Exchange] = field(default_factory=_none)
    """Calls that failed among many that were made at the same moment on purpose."""
    hung: list[Exchange] = field(default_factory=_none)
    """Calls that timed out even while no other call was in progress."""
    unserved: list[Exchange] = field(default_factory=_none)
    """Calls that nginx refused because no backend runs behind it. Afterwards, no call is repeated after a wait."""
    answered: list[Exchange] = field(default_factory=_none)
    """The calls that were not refused because of a rate limit."""
    waits: list[float] = field(default_factory=list[float])
    """The seconds of each deliberate wait."""

    def note(self, *done: Exchange) -> None:
        """Add calls to the log, and count the calls that were answered."""
        self.log.extend(done)
        self.count(*done)

    def count(self, *done: Exchange) -> None:
        """Count the calls that were not refused because of a rate limit."""
        self.answered.extend(one for one in done if not one.throttled)

    @property
    def unsteady(self) -> list[Exchange]:
        """Calls that failed once and succeeded when repeated. Failures that occur only under load are left out.

        503 says that there are too many calls, so it only counts if no other call was in progress.
        """
        only_when_busy = self.overrun and not self.flaky
        crowded = (done for done in self.crowded if done.fails and done.status != BUSY)
        return [*self.flaky, *([] if only_when_busy else crowded)]

    @property
    def ends_with_refusals(self) -> bool:
        """Whether the last calls were all refused in the same way, as a firewall refuses everything from a program."""
        last = {(done.status, done.text) for done in self.log[-REFUSALS:]}
        return len(self.log) > REFUSALS and len(last) == 1 and next(iter(last))[0] in BANS

    @property
    def skew(self) -> float | None:
        """How many seconds the endpoint's clock is ahead of ours, from the first `Date` header.

        None if this is unknown.
        """
        found = next((off for exchange in self.log if (off := ahead(exchange)) is not None), None)
        return found if found is not None and abs(found) <= MAX_SKEW else None

    def now_at(self, exchange: Exchange, ahead: float = 0.0) -> float:
        """Return the time at which the call's token was issued, in seconds, by the clock of the server that issued the
        token.

        This is the endpoint's clock if the `Date` header fits the token's `iat` better than the service's clock does,
        which is `ahead` of ours. A `Date` alone proves nothing, because it may come from a proxy.
        """
        ours = exchange.answered_at + ahead
        theirs = exchange.answered_at + (self.skew or 0.0)
        issued = exchange.claims.get("iat")
        return ours if not isinstance(issued, int) or abs(issued - ours) <= abs(issued - theirs) + 1 else theirs


def ahead(exchange: Exchange) -> float | None:
    """Return how many seconds the `Date` of an answer is ahead of our clock, or None without a usable `Date`."""
    said = moment((exchange.response.get("date") if exchange.response else None) or "")
    return None if said is None else said + 0.5 - (exchange.sent_at + exchange.seconds / 2)
