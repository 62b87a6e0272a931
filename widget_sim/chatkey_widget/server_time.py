"""The server's time as the page knows it from responses. The widget checks tokens with this time (D-12)."""

from dataclasses import dataclass
from typing import Final

SKEW_WORTH_TELLING: Final = 60.0
"""The difference in seconds between the page's and the server's clock above which the page is notified."""

_ROUNDING: Final = 2.0
"""The largest difference that rounding to whole seconds and network delay can explain."""


@dataclass(slots=True)
class ServerTime:
    """The number of seconds by which the server's clock is ahead of the page's.

    Each page has one such object, which `shutdown()` does not delete.
    """

    offset: float | None = None
    in_doubt: bool = True
    """Whether the page may have slept, or its clock may have been changed, since the server last sent its time."""
    _skew_told: bool = False

    def at(self, now: float) -> float:
        """Return the server's time at the page's time `now`. If the server's time is unknown, return `now`."""
        return now + (self.offset or 0.0)

    def learn(self, server_time: float, now: float) -> float | None:
        """Use `server_time` as the server's time.

        If the page must be notified that its clock is ahead or behind, return the difference in seconds. A difference
        is returned only once.
        """
        difference = server_time - now
        self.offset = 0.0 if abs(difference) <= _ROUNDING else difference
        self.in_doubt = False
        if self._skew_told or abs(difference) <= SKEW_WORTH_TELLING:
            return None
        self._skew_told = True
        return -difference
