"""A WebSocket at the ASGI level. The framework's own class parses, validates and stores more than the server needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chatkey_serving.site import SAY

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.types import Receive, Scope, Send


class Wire(NamedTuple):
    """A socket's scope, and the functions that receive and send. Sending to a peer that has left raises `OSError`."""

    scope: Scope
    receive: Receive
    send: Send

    async def accept(self, subprotocol: str | None) -> None:
        await self.receive()
        await self.send({"type": "websocket.accept", "subprotocol": subprotocol, "headers": []})

    @property
    def say_at_once(self) -> Callable[[bytes], bool] | None:
        """The server's function that sends a frame without waiting, if the server has one."""
        return (self.scope.get("extensions") or {}).get(SAY)  # type: ignore[return-value]  # it is ours

    async def say(self, frame: bytes) -> None:
        """Send a frame, once the peer has read enough of the earlier ones."""
        if (say_at_once := self.say_at_once) is not None and say_at_once(frame):
            return
        await self.send({"type": "websocket.send", "bytes": None, "text": frame.decode()})

    async def close(self, code: int, reason: str) -> None:
        await self.send({"type": "websocket.close", "code": code, "reason": reason})
