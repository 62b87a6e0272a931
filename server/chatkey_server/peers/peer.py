"""One accepted socket, whoever is at its other end: what comes from there, what is sent there, and how it ends."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, Final

from chatkey_protocol.codes import Code
from chatkey_server import metrics
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.outbox import GONE, Outbox
from chatkey_server.peers.writer import encode, error

if TYPE_CHECKING:
    import structlog

    from chatkey_server.peers.open_sockets import Sockets
    from chatkey_server.peers.wire import Wire

PATIENCE_SECONDS: Final = 2.0
"""How long a peer that does not read can hold up its own closing."""


class Peer(ABC):
    """Serves one socket until its other end leaves, or is told why not and closed.

    What others cause is sent meanwhile, in the background, through a bounded backlog.
    """

    KIND: ClassVar[str]
    """Who is at the other end, for the metrics."""
    FAILED: ClassVar[str]
    """The log's event for a mistake of ours."""
    REFUSED: ClassVar[str]
    """The log's event for a refusal that closes the socket."""
    AGAIN: ClassVar[str]
    """What somebody does who wants to go on."""

    def __init__(self, wire: Wire, sockets: Sockets, log: structlog.typing.FilteringBoundLogger) -> None:
        self._wire = wire
        self._sockets = sockets
        self.log = log
        self._outbox = Outbox(wire)
        self._context = copy_context()
        self._is_closed = False
        self._closing: asyncio.Task[None] | None = None
        self._read_at = 0.0

    @abstractmethod
    async def serve(self) -> None:
        """Answer what comes until nothing more does; a `Refused` is told, and closes the socket."""

    async def run(self) -> None:
        """Serve the socket until it is gone."""
        self._sockets.add(self)
        metrics.sockets(self.KIND).inc()
        try:
            await self.guarded(self.serve)
        except asyncio.CancelledError:
            if not self._is_closed:
                raise
            # Its end was told, and the server that stops does not wait for what was still under way.
        finally:
            self.close()
            self._sockets.remove(self)
            metrics.sockets(self.KIND).dec()

    async def guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something for this socket; whatever goes wrong is told, and closes it."""
        try:
            await work()
        except Refused as refused:
            await self.refuse(refused)
        except GONE:
            pass  # nobody is there to be told
        except Exception:
            self.log.exception(self.FAILED)
            await self.refuse(Refused(Code.INTERNAL, f"Something went wrong here; {self.AGAIN}."))

    async def text(self) -> str | None:
        """Return the next message; None once nothing more is read."""
        event = await self._wire.receive()
        self._read_at = perf_counter()
        if event["type"] != "websocket.receive" or self._is_closed:
            return None
        text = event.get("text")
        if text is None:
            raise Refused(Code.FRAME_INVALID, "Frames are text messages; a binary one came.")
        return text

    async def send(self, frame: Mapping[str, object]) -> None:
        """Send a frame at once; nothing, when the socket is closed."""
        if self._is_closed:
            return
        await self._wire.say(encode(frame))
        if frame["type"] == "ack":
            metrics.acknowledgements(self.KIND).observe(perf_counter() - self._read_at)

    def tell(self, frame: bytes) -> None:
        """Queue a frame that was not asked for; refuses, when too many wait."""
        if not self._is_closed and not self._outbox.put(frame):
            self.end(Refused(Code.UNAVAILABLE, f"This connection reads too slowly; {self.AGAIN}."))

    def end(self, refused: Refused) -> None:
        """Begin to refuse and close, once; nobody waits until it is done."""
        if not self._is_closed:
            # Whoever causes it, the log has it under the request that opened this socket.
            self._closing = asyncio.create_task(self.refuse(refused), context=self._context)

    async def refuse(self, refused: Refused) -> None:
        """Say why, and close with the code that belongs to it."""
        if self._is_closed:
            return
        self.close()
        metrics.refused(refused.code)
        self.log.info(self.REFUSED, code=refused.code, member=refused.member, cause=refused.cause)
        with suppress(*GONE, TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._wire.say(encode(error(refused)))
                await self._wire.close(refused.meaning.close, refused.code)

    def close(self) -> None:
        """Read, answer and queue nothing more."""
        self._is_closed = True
        self._outbox.close()
