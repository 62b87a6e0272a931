"""A WebSocket connection for blocking code. All connections of a process run on one event loop in a separate thread.

The blocking client of `websockets` reads and writes TLS from two threads at once. OpenSSL does not support this, and
frames would occasionally be lost.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from anyio.from_thread import BlockingPortal, BlockingPortalProvider
from websockets.asyncio.client import ClientConnection, connect
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import Event

LOOP: Final = BlockingPortalProvider()


class _Connection(ClientConnection):
    """Records when it receives a ping (RFC 6455)."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.pinged = threading.Event()

    def process_event(self, event: Event) -> None:
        """Record a ping, which the library has already answered."""
        if isinstance(event, Frame) and event.opcode is Opcode.PING:
            self.pinged.set()
        super().process_event(event)


class Wire:
    """An open WebSocket. A call after the close raises `websockets.exceptions.ConnectionClosed`."""

    def __init__(self, connection: _Connection, portal: BlockingPortal) -> None:
        self._connection = connection
        self._portal = portal

    @property
    def subprotocol(self) -> str | None:
        return self._connection.subprotocol

    @property
    def response(self) -> Response | None:
        """The response to the upgrade."""
        return self._connection.response

    @property
    def pinged(self) -> threading.Event:
        """An event that is set when a ping has been received."""
        return self._connection.pinged

    def send(self, message: str | bytes) -> None:
        self._portal.call(self._connection.send, message)

    def recv(self, timeout: float) -> str | bytes:
        """Return the next message. Raises `TimeoutError` after `timeout` seconds."""
        return self._portal.call(self._recv, timeout)

    async def _recv(self, seconds: float) -> str | bytes:
        async with asyncio.timeout(seconds):
            return await self._connection.recv()

    def write(self, octets: bytes) -> None:
        """Send raw bytes on the connection, without adding a WebSocket frame.

        Does nothing if the connection is closed.
        """
        self._portal.call(self._connection.transport.write, octets)

    def close(self, code: int = 1000) -> None:
        self._portal.call(self._connection.close, code)


@contextmanager
def wire(uri: str, **options: Any) -> Iterator[Wire]:
    """Open a WebSocket. `options` are passed to `websockets.asyncio.client.connect`, which may raise its own errors."""
    opening = connect(uri, **{"proxy": None, "compression": None, **options}, create_connection=_Connection)
    with LOOP as portal, portal.wrap_async_context_manager(opening) as connection:
        yield Wire(connection, portal)  # type: ignore[arg-type]
