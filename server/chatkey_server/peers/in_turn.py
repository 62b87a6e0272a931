"""Work that one socket asked for, done in order in the background, so that the socket can go on reading."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

Work = Callable[[], Awaitable[None]]

MOST_BYTES: Final = 65_536
"""How much may wait before the socket stops reading."""
OVERHEAD: Final = 500
"""What the smallest piece of work that waits holds, in bytes."""


class InTurn:
    """Does one thing after the other. There is a task only while something is to be done.

    What is put in must not raise.
    """

    __slots__ = ("_bytes", "_task", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[tuple[Work, int]] = []
        self._bytes = 0
        self._task: asyncio.Task[None] | None = None

    async def put(self, work: Work, size: int) -> None:
        """Do this, which holds so many bytes, after everything before it; wait for that if too much waits already."""
        if self._bytes >= MOST_BYTES:
            await self.settled()
        self._waiting.append((work, size + OVERHEAD))
        self._bytes += size + OVERHEAD
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._do())

    async def settled(self, within: float | None = None) -> None:
        """Wait until everything is done, or for so many seconds."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within)

    def forget(self) -> None:
        """Do nothing more; what is under way comes to its end."""
        self._waiting.clear()
        self._bytes = 0

    def cancel(self) -> None:
        """Do nothing more, and give up what is under way."""
        self.forget()
        if self._task is not None:
            self._task.cancel()

    async def _do(self) -> None:
        while self._waiting:
            work, held = self._waiting.pop(0)
            self._bytes -= held
            await work()
