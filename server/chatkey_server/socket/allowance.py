"""How much may come within a second."""

from __future__ import annotations


class Allowance:
    """Lets `per_second` things pass at once, and then as many a second evenly; 0 means no limit."""

    __slots__ = ("_counted_at", "_left", "per_second")

    def __init__(self, per_second: int, now: float) -> None:
        self.per_second = per_second
        self._left = float(per_second)
        self._counted_at = now

    def take(self, now: float) -> bool:
        """Count one; False when it is one too many."""
        if not self.per_second:
            return True
        self._left = min(self.per_second, self._left + max(0.0, now - self._counted_at) * self.per_second)
        self._counted_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
