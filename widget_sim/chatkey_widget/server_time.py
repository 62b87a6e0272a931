"""The server's time as the page knows it from responses. Tokens are checked with it (D-12)."""

from dataclasses import dataclass
from typing import Final

SKEW_WORTH_TELLING: Final = 60.0
"""If the page's clock differs from the server's by more seconds than this, the page is notified."""

_ROUNDING: Final = 2.0
"""Differences up to this come from rounding to whole seconds and from network delay."""


@dataclass(slots=True)
class ServerTime:
    """How far the server's clock is ahead of the page's, in seconds. One per page: it survives `shutdown()`."""

    offset: float | None = None
    in_doubt: bool = True
    """Whether the page may have slept, or its clock may have been set, since the server last sent its time."""
    _skew_told: bool = False

    def at(self, now: float) -> float:
        """Return the server's time at the page's time `now`, if known; otherwise `now`."""
        return now + (self.offset or 0.0)

    def learn(self, server_time: float, now: float) -> float | None:
        """Use this as the server's time. Returns how far the page's clock is ahead if that is to be reported (once)."""
        difference = server_time - now
        self.offset = 0.0 if abs(difference) <= _ROUNDING else difference
        self.in_doubt = False
        if self._skew_told or abs(difference) <= SKEW_WORTH_TELLING:
            return None
        self._skew_told = True
        return -difference
