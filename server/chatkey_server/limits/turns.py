"""Turns at what is costly: a few at once, a few who wait, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chatkey_server.identity.errors import RateLimited


class Turns:
    """Lets `at_once` do something costly side by side, and `waiting` more wait for their turn."""

    def __init__(self, what: str, *, at_once: int, waiting: int) -> None:
        self._what = what
        self._most = at_once + waiting
        self._free = asyncio.Semaphore(at_once)
        self._here = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it while the context lasts. Raises `RateLimited` when too many wait."""
        if self._here >= self._most:
            raise RateLimited(1, f"Too many {self._what} at once")
        self._here += 1
        try:
            async with self._free:
                yield
        finally:
            self._here -= 1
