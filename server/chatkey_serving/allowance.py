"""A rate limit with bursts (token bucket)."""

from __future__ import annotations


class Allowance:
    """Admits a burst of `at_once` units, and after that `per_second` units per second at an even rate.

    If `per_second` is 0, there is no limit. `at_once` defaults to `per_second`.
    """

    __slots__ = ("_at_once", "_counted_at", "_left", "per_second")

    def __init__(self, per_second: int, now: float, *, at_once: int | None = None) -> None:
        self.per_second = per_second
        self._at_once = per_second if at_once is None else at_once
        self._left = float(self._at_once)
        self._counted_at = now

    def take(self, now: float, amount: int = 1) -> bool:
        """Count `amount`. If the limit would be exceeded, count nothing and return False."""
        if not self.per_second:
            return True
        self._left = min(self._at_once, self._left + max(0.0, now - self._counted_at) * self.per_second)
        self._counted_at = now
        if self._left < amount:
            return False
        self._left -= amount
        return True
