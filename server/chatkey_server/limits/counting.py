"""Counts service-wide limits: in each process and, with Redis, over all processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Protocol

from chatkey_server.clock import Now
from chatkey_server.identity.errors import RateLimited
from chatkey_server.limits.allowances import Charge, give_all_back, take_all


class Tally(Protocol):
    """Counts over all processes of a deployment, while the shared store can be reached."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Keep the tally open while the context lasts."""
        ...

    async def take(self, charge: Charge, now: float) -> bool:
        """Take a charge, and return whether the store has counted it. Raises `RateLimited`."""
        ...

    def share(self, charges: Sequence[Charge], now: float) -> None:
        """Take all charges, without waiting. Then raise the counts of this process to those of all processes."""
        ...

    def reset(self) -> None: ...

    def renew(self) -> None:
        """Connect again before the next charge."""
        ...


class Counting:
    """Counts in this process first. The tally counts only what this process allows."""

    def __init__(self, now: Now, tally: Tally | None = None, processes: Callable[[], int] = lambda: 1) -> None:
        self._now = now
        self._tally = tally
        self._processes = processes

    async def take(self, charge: Charge) -> None:
        """Take a charge in this process and in the tally. Raises `RateLimited`.

        If the tally cannot count it, this process allows only its share: each charge costs as much as one in every
        process.
        """
        now = self._now()
        take_all([charge], now)
        if self._tally is None:
            return
        try:
            is_counted = await self._tally.take(charge, now)
        except RateLimited:
            give_all_back([charge])
            raise
        if not is_counted:
            give_all_back([charge])
            take_all([charge._replace(amount=charge.amount * self._processes())], now)

    @contextmanager
    def counted(self, charges: Sequence[Charge]) -> Iterator[None]:
        """Take all charges or none, without waiting. If the body fails, undo this. Raises `RateLimited`.

        The tally counts afterwards. Until then, other processes may allow more.
        """
        now = self._now()
        take_all(charges, now)
        try:
            yield
        except BaseException:
            give_all_back(charges)
            raise
        if self._tally is not None:
            self._tally.share(charges, now)

    def reset(self) -> None:
        """Reset the tally. The allowances of this process are reset elsewhere."""
        if self._tally is not None:
            self._tally.reset()

    def renew(self) -> None:
        if self._tally is not None:
            self._tally.renew()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        if self._tally is None:
            yield
            return
        async with self._tally.running():
            yield
