"""Limits how many costly operations run at once and how many wait. Further operations are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chatkey_server.identity.errors import RateLimited


class Turns:
    """Lets `at_once` operations run concurrently, and up to `waiting` further operations wait."""

    def __init__(self, what: str, *, at_once: int, waiting: int) -> None:
        self._what = what
        self._most = at_once + waiting
        self._free = asyncio.Semaphore(at_once)
        self._here = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and hold it while the context lasts. Raises `RateLimited` if too many operations wait."""
        if self._here >= self._most:
            raise RateLimited(1, f"Too many {self._what} at once")
        self._here += 1
        try:
            async with self._free:
                yield
        finally:
            self._here -= 1
