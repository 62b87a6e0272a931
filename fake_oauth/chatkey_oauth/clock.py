"""The fake provider's time: the system's time plus an offset that the lab moves (D-13)."""

import time
from collections.abc import Callable


class Clock:
    """Seconds since the epoch, as a callable."""

    def __init__(self, source: Callable[[], float] = time.time) -> None:
        self._source = source
        self.offset = 0.0

    def __call__(self) -> float:
        return self._source() + self.offset

    def advance(self, seconds: float) -> float:
        """Move time forward and return the new time."""
        self.offset += seconds
        return self()

    def reset(self) -> None:
        """Return to the system's time."""
        self.offset = 0.0
