"""Work that one socket asked for, done in order in the background, so that the socket can go on reading."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

Work = Callable[[], Awaitable[None]]

MOST: Final = 8
"""How much may wait before the socket stops reading."""


class InTurn:
    """Does one thing after the other. There is a task only while something is to be done.

    What is put in must not raise.
    """

    __slots__ = ("_task", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[Work] = []
        self._task: asyncio.Task[None] | None = None

    async def put(self, work: Work) -> None:
        """Do this after everything before it; wait for that if too much waits already."""
        if len(self._waiting) >= MOST:
            await self.settled()
        self._waiting.append(work)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._do())

    async def settled(self, within: float | None = None) -> None:
        """Wait until everything is done, or for so many seconds."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within)

    def forget(self) -> None:
        """Do nothing more; what is under way comes to its end."""
        self._waiting.clear()

    def cancel(self) -> None:
        """Do nothing more, and give up what is under way."""
        self.forget()
        if self._task is not None:
            self._task.cancel()

    async def _do(self) -> None:
        while self._waiting:
            await self._waiting.pop(0)()
