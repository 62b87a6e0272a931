"""A connection in memory, whose peer is the test."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from chatkey_serving.http import HttpConnection
from chatkey_serving.site import Limits, Site
from chatkey_stack.patience import PATIENCE

App = Callable[[Any, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]

CALM = 10
"""If nothing changes in this many rounds of the event loop, the server waits for its peer."""

MOST_PIECES: Final = 2_000
CUTS: Final[dict[str, Callable[[bytes], list[bytes]]]] = {
    "whole": lambda sent: [sent],
    "at every byte": lambda sent: _pieces(sent, 1 + len(sent) // MOST_PIECES),
    "at every line end": lambda sent: re.findall(rb"[^\r\n]*[\r\n]?", sent)[:-1],
}
"""Ways in which data may arrive."""


def _pieces(sent: bytes, size: int) -> list[bytes]:
    return [sent[start : start + size] for start in range(0, len(sent), size)]


class Pipe(asyncio.Transport):
    """Passes what the peer sends to the server, unless the server has paused reading.

    `unsent` is the size of the data that the peer leaves unread: only an abort ends such a connection.
    """

    def __init__(self, site: Site, *, unsent: int = 0, can_half_close: bool = True) -> None:
        super().__init__()
        self.packets: list[bytes] = []
        self.unread: list[bytes | None] = []
        self.unsent = unsent
        self.is_paused = self.is_closed = False
        self.answered, self.shut, self.aborted = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._can_half_close = can_half_close
        self._is_lost = False
        self.protocol: asyncio.BaseProtocol = HttpConnection(site)
        self.protocol.connection_made(self)

    @property
    def written(self) -> bytes:
        return b"".join(self.packets)

    @property
    def has_ended(self) -> bool:
        """Return whether the server sends nothing more."""
        return self.is_closed or self.shut.is_set()

    def receive(self, data: bytes | None) -> None:
        """Receive data from the peer, or the end of its half of the connection (None)."""
        self.unread.append(data)
        self._pass_on()

    def _pass_on(self) -> None:
        while self.unread and not self.is_paused and not self.is_closed:
            assert isinstance(self.protocol, asyncio.Protocol)
            data = self.unread.pop(0)
            if data is not None:
                self.protocol.data_received(data)
            elif not self.protocol.eof_received():
                self.close()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("192.0.2.1", 50_000), "sockname": ("127.0.0.1", 8800)}.get(name, default)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False
        asyncio.get_running_loop().call_soon(self._pass_on)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.shut.is_set()
        self.packets.append(bytes(data))
        self.answered.set()

    def can_write_eof(self) -> bool:
        return self._can_half_close

    def write_eof(self) -> None:
        self.shut.set()

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True
        if not self.unsent:
            self._lose()

    def abort(self) -> None:
        self.is_closed = True
        self.aborted.set()
        self._lose()

    def _lose(self) -> None:
        if not self._is_lost:
            self._is_lost = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)


class Line:
    """One connection to an app, which notes the scope of each request."""

    def __init__(self, app: App, *, limits: Limits | None = None, has_sockets: bool = True) -> None:
        self.scopes: list[Any] = []

        async def noting(scope: Any, receive: Any, send: Any) -> None:
            self.scopes.append(scope)
            await app(scope, receive, send)

        self.site = Site(app=noting, limits=limits or Limits(), has_sockets=has_sockets, has_date=False)
        self.site.state["a"] = 1
        self.pipe = Pipe(self.site)

    async def hear(self, *said: bytes | None) -> bytes:
        """Send these pieces, and return everything that has been received once the server waits for more."""
        for data in said:
            self.pipe.receive(data)
            await asyncio.sleep(0)
        await settled(self.site, self.pipe)
        return self.pipe.written

    async def lose(self) -> None:
        tasks = tuple(self.site.tasks)
        self.pipe.abort()
        await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An app that reads and notes the body of a request and answers 200, and that echoes each message of a socket."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (event := await receive())["type"] == "websocket.receive":
            await send({**event, "type": "websocket.send"})
        return
    scope["body"], more = b"", True
    while more:
        event = await receive()
        scope["body"] += event.get("body", b"")
        more = event.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


async def settled(site: Site, *pipes: Pipe) -> None:
    """Wait until the server waits for its peers."""
    before: object = None
    calm = 0
    while calm < CALM:
        await asyncio.sleep(0)
        now = (set(site.tasks), [(len(pipe.packets), len(pipe.unread)) for pipe in pipes])
        before, calm = now, calm + 1 if now == before else 0
