"""How what protects the service as a whole is counted: by each process, and by all of them together where they can."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from chatkey_server.clock import Now
from chatkey_server.identity.errors import RateLimited
from chatkey_server.limits.allowances import Charge, give_all_back, take_all


class Tally(Protocol):
    """Counts for all processes of a deployment, as far as it can be reached; where not, it lets pass."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Be there while the context lasts."""
        ...

    async def take(self, charges: Sequence[Charge], now: float) -> None:
        """Take all of them, or none. Raises `RateLimited`."""
        ...

    def give_back(self, charges: Sequence[Charge]) -> None:
        """Give back what `take` took, without waiting."""
        ...

    def reset(self) -> None:
        """Forget everybody."""
        ...


class Counting:
    """Takes from this process's allowances first, so that who has none left here costs no question to the tally."""

    def __init__(self, now: Now, tally: Tally | None = None) -> None:
        self._now = now
        self._tally = tally

    async def take(self, charges: Sequence[Charge]) -> None:
        """Take all of them, here and everywhere, or none. Raises `RateLimited`."""
        now = self._now()
        take_all(charges, now)
        if self._tally is None:
            return
        try:
            await self._tally.take(charges, now)
        except RateLimited:
            give_all_back(charges)
            raise

    def give_back(self, charges: Sequence[Charge]) -> None:
        """Give back what `take` took."""
        give_all_back(charges)
        if self._tally is not None:
            self._tally.give_back(charges)

    def reset(self) -> None:
        """Have the tally forget everybody; the allowances of this process are others' to clear."""
        if self._tally is not None:
            self._tally.reset()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Have the tally while the context lasts."""
        if self._tally is None:
            yield
            return
        async with self._tally.running():
            yield
