"""One accepted socket: receives and sends frames, and closes the connection with a reason."""

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
"""How long a peer that does not read can delay the closing of its socket."""


class Peer(ABC):
    """Serves one socket until the peer leaves, or until the peer is refused and disconnected.

    Frames that other sockets caused are sent in the background, from a bounded queue.
    """

    KIND: ClassVar[str]
    """The kind of peer, for the metrics."""
    FAILED: ClassVar[str]
    """The log event for a failure of the server."""
    REFUSED: ClassVar[str]
    """The log event for a refusal that closes the socket."""
    AGAIN: ClassVar[str]
    """What the person should do after a failure, for messages."""

    def __init__(self, wire: Wire, sockets: Sockets, log: structlog.typing.FilteringBoundLogger) -> None:
        self._wire = wire
        self._sockets = sockets
        self._log = log
        self._known: dict[str, str] = {}
        self._outbox = Outbox(wire)
        self._context = copy_context()
        self._is_closed = False
        self._closing: asyncio.Task[None] | None = None
        self._read_at = 0.0

    @property
    def log(self) -> structlog.typing.FilteringBoundLogger:
        """The log, with what is known about the peer. Most sockets log nothing here, so it is made when needed."""
        return self._log.bind(**self._known)

    @abstractmethod
    async def serve(self) -> None:
        """Answer frames until the peer leaves. A `Refused` is sent to the peer and closes the socket."""

    async def run(self) -> None:
        """Serve the socket until the socket is closed."""
        self._sockets.add(self)
        metrics.sockets(self.KIND).inc()
        try:
            await self.guarded(self.serve)
        except asyncio.CancelledError:
            if not self._is_closed:
                raise
            # The peer knows why it was closed, and a server that stops does not wait for work in progress.
        finally:
            self.close()
            self._sockets.remove(self)
            metrics.sockets(self.KIND).dec()

    async def guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` for this socket. If the work fails, send the reason and close the socket."""
        try:
            await work()
        except Refused as refused:
            await self.refuse(refused)
        except GONE:
            pass  # the peer has left
        except Exception:
            self.log.exception(self.FAILED)
            await self.refuse(Refused(Code.INTERNAL, f"The server had an internal error; {self.AGAIN}."))

    async def text(self) -> str | None:
        """Return the next text message, or None once the socket is closed."""
        event = await self._wire.receive()
        self._read_at = perf_counter()
        if event["type"] != "websocket.receive" or self._is_closed:
            return None
        text = event.get("text")
        if text is None:
            raise Refused(Code.FRAME_INVALID, "Frames must be text messages; this one is binary.")
        return text

    async def send(self, frame: Mapping[str, object]) -> None:
        """Send a frame at once. Does nothing if the socket is closed."""
        if self._is_closed:
            return
        await self._wire.say(encode(frame))
        if frame["type"] == "ack":
            metrics.acknowledgements(self.KIND).observe(perf_counter() - self._read_at)

    def tell(self, frame: bytes) -> None:
        """Queue a frame that the peer did not request. Closes the socket if too many frames wait."""
        if not self._is_closed and not self._outbox.put(frame):
            self.end(Refused(Code.UNAVAILABLE, f"This connection reads its messages too slowly; {self.AGAIN}."))

    def end(self, refused: Refused) -> None:
        """Begin to close the socket with a reason, without waiting until it is closed."""
        if not self._is_closed:
            # Log it under the request that opened this socket, whatever causes it.
            self._closing = asyncio.create_task(self.refuse(refused), context=self._context)

    async def refuse(self, refused: Refused) -> None:
        """Send the reason, and close with the matching close code."""
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
        """Stop reading, answering and queuing."""
        self._is_closed = True
        self._outbox.close()
