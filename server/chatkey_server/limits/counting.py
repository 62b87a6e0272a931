"""Counts service-wide limits: in each process and, with Redis, over all processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Protocol

from chatkey_server.clock import Now
from chatkey_server.identity.errors import RateLimited
from chatkey_server.limits.allowances import Charge, give_all_back, take_all


class Tally(Protocol):
    """Counts over all processes of a deployment. If the shared store cannot be reached, everything is allowed."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Keep the tally open while the context lasts."""
        ...

    async def take(self, charges: Sequence[Charge], now: float) -> None:
        """Take all charges, or none if one of the allowances is too small. Raises `RateLimited`."""
        ...

    def share(self, charges: Sequence[Charge], now: float) -> None:
        """Take all charges, without waiting. Then raise the counts of this process to those of all processes."""
        ...

    def reset(self) -> None: ...


class Counting:
    """Counts in this process first. The tally counts only what this process allows."""

    def __init__(self, now: Now, tally: Tally | None = None) -> None:
        self._now = now
        self._tally = tally

    async def take(self, charges: Sequence[Charge]) -> None:
        """Take all charges, in this process and in the tally, or none. Raises `RateLimited`."""
        now = self._now()
        take_all(charges, now)
        if self._tally is None:
            return
        try:
            await self._tally.take(charges, now)
        except RateLimited:
            give_all_back(charges)
            raise

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

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        if self._tally is None:
            yield
            return
        async with self._tally.running():
            yield
