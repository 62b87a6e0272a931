"""Queues frames that one socket gets because of other sockets. Sends the frames in order in the background."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from litestar.exceptions import WebSocketDisconnect

if TYPE_CHECKING:
    from chatkey_server.peers.wire import Wire

MAX_BACKLOG: Final = 256
"""How many frames may wait for a peer that reads slowly."""

SLOW_SECONDS: Final = 1.0
"""A peer reads slowly if the oldest waiting frame is older than this. A peer that reads fast may get a burst."""

MOST: Final = 20_000
"""How many frames may wait for any peer."""

GONE: Final = (WebSocketDisconnect, OSError)
"""The exceptions that sending to a disconnected peer raises."""


class Outbox:
    """Sends queued frames. If the server can send a frame at once, the frame is not queued.

    A task exists only while frames wait.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._say_at_once = wire.say_at_once
        self._waiting: list[tuple[float, bytes]] = []  # an empty deque would take 0.7 KB of every idle socket
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def put(self, frame: bytes) -> bool:
        """Queue a frame. Returns False if the peer reads slowly and too many frames wait."""
        if self._say_at_once is not None and self._is_empty() and self._say_at_once(frame):
            return True
        now = self._loop.time()
        if len(self._waiting) >= MAX_BACKLOG and self._is_slow(now):
            return False
        self._waiting.append((now, frame))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_waiting())
        return True

    def _is_empty(self) -> bool:
        return not self._waiting and (self._task is None or self._task.done())

    def _is_slow(self, now: float) -> bool:
        since, _ = self._waiting[0]
        return now - since > SLOW_SECONDS or len(self._waiting) >= MOST

    def close(self) -> None:
        """Send nothing more, and drop the waiting frames."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _send_waiting(self) -> None:
        with suppress(*GONE):  # the reading side notices it too
            while self._waiting:
                _, frame = self._waiting.pop(0)
                await self._wire.say(frame)
