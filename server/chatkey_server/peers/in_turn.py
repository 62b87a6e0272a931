"""Runs the work that one socket requested, in order and in the background, so that the socket can continue to read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

Work = Callable[[], Awaitable[None]]

MOST_BYTES: Final = 65_536
"""How many bytes may wait before the socket stops reading."""
OVERHEAD: Final = 500
"""The memory that even the smallest waiting piece of work uses, in bytes."""


class InTurn:
    """Runs pieces of work one after the other. A task exists only while there is work.

    The work must not raise.
    """

    __slots__ = ("_bytes", "_task", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[tuple[Work, int]] = []
        self._bytes = 0
        self._task: asyncio.Task[None] | None = None

    async def put(self, work: Work, size: int) -> None:
        """Queue `work`, which holds `size` bytes. If too much work waits, first wait until the queue is empty."""
        if self._bytes >= MOST_BYTES:
            await self.settled()
        self._waiting.append((work, size + OVERHEAD))
        self._bytes += size + OVERHEAD
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._do())

    async def settled(self, within: float | None = None) -> None:
        """Wait until all work is done, or at most `within` seconds."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within)

    def forget(self) -> None:
        """Drop the waiting work. The current piece of work is finished."""
        self._waiting.clear()
        self._bytes = 0

    def cancel(self) -> None:
        """Drop the waiting work, and cancel the current piece of work."""
        self.forget()
        if self._task is not None:
            self._task.cancel()

    async def _do(self) -> None:
        while self._waiting:
            work, held = self._waiting.pop(0)
            self._bytes -= held
            await work()
