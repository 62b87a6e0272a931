"""Allowances that fill evenly: one number for each name, in memory and bounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from chatkey_server.identity.errors import RateLimited

MOST_NAMES: Final = 20_000


class Allowances:
    """Lets each name have `at_once`, and then `most` in so many `seconds` evenly; `most` 0 means no limit.

    What is kept is the time at which a name's allowance is whole again. When there are too many names, those with a
    whole allowance are forgotten, and if that is not enough the half longest known.
    """

    def __init__(
        self, most: int, seconds: float, *, at_once: float | None = None, most_names: int = MOST_NAMES, kind: str = ""
    ) -> None:
        self.kind = kind
        """What they are for, where several share one store."""
        self._interval = seconds / most if most else 0.0
        self._at_once = most if at_once is None else max(1.0, at_once)
        self._most_names = most_names
        self._whole_at: dict[str, float] = {}

    @property
    def is_limit(self) -> bool:
        """Whether there is a limit at all."""
        return self._interval > 0

    def price(self, amount: float) -> tuple[float, float]:
        """Return how many seconds of filling so much is, and how many the whole allowance is."""
        return self._cost(amount), self._at_once * self._interval

    def wait(self, name: str, amount: float, now: float) -> float:
        """Return how many seconds until so much may be taken; 0 when it may be now."""
        cost, whole = self.price(amount)
        return max(0.0, max(self._whole_at.get(name, 0.0), now) + cost - now - whole)

    def take(self, name: str, amount: float, now: float) -> None:
        """Take so much, whether or not it may be."""
        if not self._interval:
            return
        if name not in self._whole_at and len(self._whole_at) >= self._most_names:
            self._forget(now)
        self._whole_at[name] = max(self._whole_at.get(name, 0.0), now) + self._cost(amount)

    def give_back(self, name: str, amount: float) -> None:
        """Give back what `take` took, for what came to nothing after all."""
        if name in self._whole_at:
            self._whole_at[name] -= self._cost(amount)

    def clear(self) -> None:
        """Forget every name."""
        self._whole_at.clear()

    def _cost(self, amount: float) -> float:
        # What is more than one may ever have at once is let through by a whole allowance, or it never would be.
        return min(amount, self._at_once) * self._interval

    def _forget(self, now: float) -> None:
        self._whole_at = {name: at for name, at in self._whole_at.items() if at > now}
        if (known := len(self._whole_at)) >= self._most_names:
            self._whole_at = dict(islice(self._whole_at.items(), known // 2, None))


class Charge(NamedTuple):
    """So much of a name's allowance. `whose` begins the sentence that a refusal says."""

    allowances: Allowances
    name: str
    amount: float
    whose: str


def take_all(charges: Sequence[Charge], now: float) -> None:
    """Take all of them, or none. Raises `RateLimited`."""
    for allowances, name, amount, whose in charges:
        if wait := allowances.wait(name, amount, now):
            raise RateLimited(math.ceil(wait), whose)
    for allowances, name, amount, _ in charges:
        allowances.take(name, amount, now)


def give_all_back(charges: Sequence[Charge]) -> None:
    """Give back what `take_all` took."""
    for allowances, name, amount, _ in charges:
        allowances.give_back(name, amount)
