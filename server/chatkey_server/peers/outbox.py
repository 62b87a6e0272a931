"""Frames that others cause, on their way to one socket: in order, in the background, and never without bound."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from litestar.exceptions import WebSocketDisconnect

if TYPE_CHECKING:
    from chatkey_server.peers.wire import Wire

MAX_BACKLOG: Final = 256
"""Frames that may wait for a peer that reads slowly."""

SLOW_SECONDS: Final = 1.0
"""A peer reads slowly when the first frame that waits has waited so long; who reads fast may be sent a burst."""

MOST: Final = 20_000
"""Frames that may wait in any case."""

GONE: Final = (WebSocketDisconnect, OSError)
"""What sending to a peer that has left raises."""


class Outbox:
    """Sends what is put into it; there is a task only while something waits."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def put(self, frame: bytes) -> bool:
        """Queue a frame; False when too many wait already, of a peer that reads slowly."""
        now = self._loop.time()
        if len(self._waiting) >= MAX_BACKLOG and self._is_slow(now):
            return False
        self._waiting.append((now, frame))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_waiting())
        return True

    def _is_slow(self, now: float) -> bool:
        since, _ = self._waiting[0]
        return now - since > SLOW_SECONDS or len(self._waiting) >= MOST

    def close(self) -> None:
        """Send nothing more: what still waits is forgotten."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _send_waiting(self) -> None:
        with suppress(*GONE):  # the reading side notices, too
            while self._waiting:
                _, frame = self._waiting.popleft()
                await self._wire.say(frame)
