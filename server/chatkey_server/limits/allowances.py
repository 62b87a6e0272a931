"""Allowances that refill at a constant rate. Each name needs one number in memory. The number of names is limited."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from chatkey_server.identity.errors import RateLimited

MOST_NAMES: Final = 20_000


class Allowances:
    """Limits each name to `at_once` units at a time. The allowance refills evenly, by `most` units in `seconds`.

    If `most` is 0, there is no limit. For each name, the time is stored at which the allowance is full again. If there
    are too many names, names with a full allowance are removed. If there are still too many, the older half is removed
    too.
    """

    def __init__(
        self, most: int, seconds: float, *, at_once: float | None = None, most_names: int = MOST_NAMES, kind: str = ""
    ) -> None:
        self.kind = kind
        """Distinguishes allowances that share one store."""
        self._interval = seconds / most if most else 0.0
        self._at_once = most if at_once is None else max(1.0, at_once)
        self._most_names = most_names
        self._whole_at: dict[str, float] = {}

    @property
    def is_limit(self) -> bool:
        return self._interval > 0

    def price(self, amount: float) -> tuple[float, float]:
        """Return how long refilling `amount` takes, and how long refilling the whole allowance takes, in seconds."""
        return self._cost(amount), self._at_once * self._interval

    def wait(self, name: str, amount: float, now: float) -> float:
        """Return the seconds until `amount` may be taken, or 0 if it may be taken now."""
        cost, whole = self.price(amount)
        return max(0.0, max(self._whole_at.get(name, 0.0), now) + cost - now - whole)

    def take(self, name: str, amount: float, now: float) -> None:
        """Take `amount`, even if the allowance is too small."""
        if not self._interval:
            return
        if name not in self._whole_at and len(self._whole_at) >= self._most_names:
            self._forget(now)
        self._whole_at[name] = max(self._whole_at.get(name, 0.0), now) + self._cost(amount)

    def give_back(self, name: str, amount: float) -> None:
        """Undo `take`, if the action did not happen."""
        if name in self._whole_at:
            self._whole_at[name] -= self._cost(amount)

    def catch_up(self, name: str, whole_at: float) -> None:
        """Adopt the count of all processes for a name, if it is higher: the time when the allowance is full again."""
        self._whole_at[name] = max(self._whole_at.get(name, 0.0), whole_at)

    def clear(self) -> None:
        """Forget all names, so that every allowance is full again."""
        self._whole_at.clear()

    def _cost(self, amount: float) -> float:
        # An amount above the whole allowance needs a full allowance; otherwise it would never be allowed.
        return min(amount, self._at_once) * self._interval

    def _forget(self, now: float) -> None:
        self._whole_at = {name: at for name, at in self._whole_at.items() if at > now}
        if (known := len(self._whole_at)) >= self._most_names:
            self._whole_at = dict(islice(self._whole_at.items(), known // 2, None))


class Charge(NamedTuple):
    """An amount to take from a name's allowance. The message of a refusal begins with `whose`."""

    allowances: Allowances
    name: str
    amount: float
    whose: str


def take_all(charges: Sequence[Charge], now: float) -> None:
    """Take all charges, or none if one of the allowances is too small. Raises `RateLimited`."""
    for allowances, name, amount, whose in charges:
        if wait := allowances.wait(name, amount, now):
            raise RateLimited(math.ceil(wait), whose)
    for allowances, name, amount, _ in charges:
        allowances.take(name, amount, now)


def give_all_back(charges: Sequence[Charge]) -> None:
    for allowances, name, amount, _ in charges:
        allowances.give_back(name, amount)
