"""Pages of both services: they open a WebSocket, sign in, and note when each message arrives.

They parse frames themselves, so that the client costs little processor time.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from functools import partial
from typing import Final, cast

from chatkey_peer.key import BrowserKey, dumps
from chatkey_protocol.names import SOCKET_PATH, SUBPROTOCOL
from chatkey_server.identity.tokens import Profile, Secrets, mint_custom
from chatkey_stack.ports import LOOPBACK

PROVIDER: Final = "bench"
SECRET: Final = "only-for-the-benchmark-0123456789abcdef"
MESSAGE: Final = re.compile(rb"bench-[0-9]+-[0-9]+")
"""The id of a message."""
TEXT: Final = 1
PING: Final = 9
PONG: Final = 10


class Page(asyncio.Protocol):
    """One page. `arrived` has the time at which each message first arrived, by id."""

    PATH: str
    PROTOCOL = ""

    def __init__(self, port: int) -> None:
        self._port = port
        self._data = b""
        self._is_open = False
        self.arrived: dict[bytes, float] = {}
        self._more = asyncio.Event()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def opened(cls, port: int, **more: str) -> Page:
        """Open a page, and wait until it is signed in."""
        page = cls(port, **more)
        await asyncio.get_running_loop().create_connection(partial(_same, page), LOOPBACK, port)
        await page.ready
        return page

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's class does not inherit from asyncio's
        self._transport.write(
            f"GET {self.PATH} HTTP/1.1\r\nHost: localhost:{self._port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"{self.PROTOCOL}Origin: http://localhost:{self._port}\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        """Read complete frames."""
        at = time.perf_counter()
        self._data += data
        if not self._is_open:
            head, end, rest = self._data.partition(b"\r\n\r\n")
            if not end:
                return
            if not head.startswith(b"HTTP/1.1 101 "):
                raise RuntimeError(f"The server did not open a WebSocket: {head!r}")
            self._is_open, self._data = True, rest
        for kind, payload in self._frames():
            if kind == PING:
                self._send(PONG, payload)
            elif kind == TEXT:
                self._take(payload, at)
            else:
                raise RuntimeError(f"The server sent a frame of the kind {kind}: {payload!r}")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(exc or ConnectionError("The server closed the connection."))

    def close(self) -> None:
        self._transport.abort()

    async def has(self, count: int) -> None:
        """Wait until this many messages have arrived."""
        while len(self.arrived) < count:
            self._more.clear()
            await self._more.wait()

    def say(self, text: bytes) -> None:
        self._send(TEXT, text)

    def post(self, number: int, message_id: str) -> None:
        """Send a message. `number` counts the page's messages."""
        raise NotImplementedError

    def hear(self, text: bytes) -> None:
        """Take a text that is not a message."""
        raise NotImplementedError

    def _take(self, text: bytes, at: float) -> None:
        if found := MESSAGE.search(text):
            self.arrived.setdefault(found[0], at)
            self._more.set()
        else:
            self.hear(text)

    def _send(self, kind: int, payload: bytes) -> None:
        # A mask of zeros is valid. It costs the client nothing.
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + size.to_bytes(2, "big")
        self._transport.write(bytes([0x80 | kind]) + length + bytes(4) + payload)

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        while len(self._data) >= 2:
            size, start = self._data[1], 2
            if size > 125:
                start += 2 if size == 126 else 8
                size = int.from_bytes(self._data[2:start], "big")
            if len(self._data) < start + size:
                return
            kind, payload = self._data[0] & 0x0F, self._data[start : start + size]
            self._data = self._data[start + size :]
            yield kind, payload


class Ours(Page):
    """A tab of the member `uid`, whose conversation is measured."""

    PATH = SOCKET_PATH
    PROTOCOL = f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n"

    def __init__(self, port: int, *, address: str, uid: str) -> None:
        super().__init__(port)
        self._uid = uid
        self._key = BrowserKey()
        self._address = address

    def hear(self, text: bytes) -> None:
        """Answer the hello with a proof."""
        frame = json.loads(text)
        if frame["type"] == "hello":
            token = mint_custom(
                Secrets(SECRET.encode()),
                pid=PROVIDER,
                uid=self._uid,
                jkt=self._key.jkt,
                profile=Profile(name="Ada"),
                now=time.time(),
            )
            proof = self._key.prove(token=token, nonce=frame["nonce"], htu=self._address)
            self.say(dumps({"type": "connect", "token": token, "proof": proof}))
        elif frame["type"] == "ready":
            self.ready.set_result(None)
        elif frame["type"] != "pong":
            raise RuntimeError(f"The server sent {text!r}")

    def post(self, number: int, message_id: str) -> None:  # noqa: ARG002 - Socket.IO needs the number
        self.say(dumps({"type": "message", "id": message_id, "body": f"Message {message_id}"}))


class SocketIo(Page):
    """A page with Socket.IO, protocol version 4."""

    PATH = "/socket.io/?EIO=4&transport=websocket"

    def hear(self, text: bytes) -> None:
        """Open the namespace after the handshake, and answer pings."""
        if text.startswith(b"0"):
            self.say(b"40")
        elif text.startswith(b"40"):
            self.ready.set_result(None)
        elif text == b"2":
            self.say(b"3")

    def post(self, number: int, message_id: str) -> None:
        message = {"type": "message", "id": message_id, "body": f"Message {message_id}"}
        self.say(b"42%d" % number + dumps(["message", message]))


def _same(page: Page) -> Page:
    return page
