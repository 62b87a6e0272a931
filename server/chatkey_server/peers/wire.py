"""A socket as ASGI has it: the framework's own parses, validates and keeps more than a peer here has use for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litestar.types import Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Wire:
    """What came when it was opened, and its two directions. To send to a peer that has left raises `OSError`."""

    scope: Scope
    receive: Receive
    send: Send

    async def accept(self, subprotocol: str | None) -> None:
        """Open it."""
        await self.receive()
        await self.send({"type": "websocket.accept", "subprotocol": subprotocol, "headers": []})

    async def say(self, frame: bytes) -> None:
        """Send a frame as a text message."""
        await self.send({"type": "websocket.send", "bytes": None, "text": frame.decode()})

    async def close(self, code: int, reason: str) -> None:
        """Close it, saying why."""
        await self.send({"type": "websocket.close", "code": code, "reason": reason})
