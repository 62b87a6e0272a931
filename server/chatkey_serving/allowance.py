"""How much may come within a second."""

from __future__ import annotations


class Allowance:
    """Lets `at_once` things pass at once, and then `per_second` evenly; `per_second` 0 means no limit.

    Unless it is given, `at_once` is what may pass in one second.
    """

    __slots__ = ("_at_once", "_counted_at", "_left", "per_second")

    def __init__(self, per_second: int, now: float, *, at_once: int | None = None) -> None:
        self.per_second = per_second
        self._at_once = per_second if at_once is None else at_once
        self._left = float(self._at_once)
        self._counted_at = now

    def take(self, now: float, amount: int = 1) -> bool:
        """Count so many; False when it is too many, which then cost nothing."""
        if not self.per_second:
            return True
        self._left = min(self._at_once, self._left + max(0.0, now - self._counted_at) * self.per_second)
        self._counted_at = now
        if self._left < amount:
            return False
        self._left -= amount
        return True
