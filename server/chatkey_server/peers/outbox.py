"""Frames that others cause, on their way to one socket: in order, in the background, and never without bound."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from litestar.exceptions import WebSocketDisconnect

if TYPE_CHECKING:
    from litestar import WebSocket

MAX_BACKLOG: Final = 256
"""Frames that may wait for a peer that reads slowly."""

GONE: Final = (WebSocketDisconnect, OSError)
"""What sending to a peer that has left raises."""


async def send(socket: WebSocket[Any, Any, Any], frame: bytes) -> None:
    """Send a frame as a text message."""
    await socket.send({"type": "websocket.send", "bytes": None, "text": frame.decode()})


class Outbox:
    """Sends what is put into it; there is a task only while something waits."""

    def __init__(self, socket: WebSocket[Any, Any, Any]) -> None:
        self._socket = socket
        self._waiting: deque[bytes] = deque()
        self._task: asyncio.Task[None] | None = None

    def put(self, frame: bytes) -> bool:
        """Queue a frame; False when too many wait already."""
        if len(self._waiting) >= MAX_BACKLOG:
            return False
        self._waiting.append(frame)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_waiting())
        return True

    def close(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _send_waiting(self) -> None:
        with suppress(*GONE):  # the reading side notices, too
            while self._waiting:
                await send(self._socket, self._waiting.popleft())
