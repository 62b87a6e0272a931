"""The server's time as far as a page knows it: learned from answers, and the time by which tokens are judged (D-12)."""

from dataclasses import dataclass
from typing import Final

SKEW_WORTH_TELLING: Final = 60.0
"""Seconds by which the page's clock may differ from the server's before the page is told."""

_ROUNDING: Final = 2.0
"""Differences this small come from whole seconds and the way over the network."""


@dataclass(slots=True)
class ServerTime:
    """How far the server's clock is ahead of the page's, in seconds. One per page: it outlives a widget's shutdown."""

    offset: float | None = None
    in_doubt: bool = True
    """The page may have slept, or its clock been set, since the server last told the time."""
    _skew_told: bool = False

    def at(self, now: float) -> float:
        """Return the server's time at the page's time `now`, as far as it is known."""
        return now + (self.offset or 0.0)

    def learn(self, server_time: float, now: float) -> float | None:
        """Take over the server's time; return how far the page's clock is ahead when that is to be told, once."""
        difference = server_time - now
        self.offset = 0.0 if abs(difference) <= _ROUNDING else difference
        self.in_doubt = False
        if self._skew_told or abs(difference) <= SKEW_WORTH_TELLING:
            return None
        self._skew_told = True
        return -difference
