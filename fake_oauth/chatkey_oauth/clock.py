"""The time of the fake provider: the system's time plus an offset that the lab sets (D-13)."""

import time
from collections.abc import Callable


class Clock:
    """A callable that returns the seconds since the epoch."""

    def __init__(self, source: Callable[[], float] = time.time) -> None:
        self._source = source
        self.offset = 0.0

    def __call__(self) -> float:
        return self._source() + self.offset

    def advance(self, seconds: float) -> float:
        """Move time forward by `seconds`, and return the new time."""
        self.offset += seconds
        return self()

    def reset(self) -> None:
        """Remove the offset, which restores the system's time."""
        self.offset = 0.0
