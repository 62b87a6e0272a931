"""The socket beneath the app: uvicorn's own, without endless patience, and without room for what is no message."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Protocol

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from chatkey_protocol.codes import Code
from chatkey_serving import handshake
from chatkey_serving.shortest_lengths import StrictProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent, WebSocketAcceptEvent
    from websockets.frames import Frame

    from chatkey_serving.door import Door
    from chatkey_serving.handshake import Handshake

AT_A_TIME: Final = 4096
"""Bytes; most frames are one reading, and of ten thousand at once no more than hundreds are taken apart."""
CLOSING_SECONDS: Final = 2.0
"""How long a peer may take to answer a close frame."""
LEAVING_SECONDS: Final = 5.0
"""How long the last of what is sent may take to reach a peer, before the connection is cut."""


class SocketLimits(Protocol):
    """How long a peer may take, in seconds."""

    @property
    def frame_timeout(self) -> float:
        """From the first byte of a frame to its last."""
        ...

    @property
    def pong_timeout(self) -> float:
        """To take something of what it is sent."""
        ...


class Allowance(Protocol):
    """How many frames around messages may come."""

    def take(self, now: float, /) -> bool:
        """Count one; False when it is one too many."""
        ...


class PatientSocket(WebSocketsSansIOProtocol):
    """A socket that ends if its peer sends a message too slowly, sends too many control frames, or does not read.

    uvicorn pings and limits the size of a message. It does not limit fragments, pings or pongs, and waits without limit
    for a peer that does not read. Here pings, pongs and fragments have an allowance of their own. `refused` gets the
    reason for which a peer is cut off, and returns the close code. `door` admitted the connection when it was HTTP.

    Handshakes as browsers send them are answered here; uvicorn's library answers all others.
    """

    def __init__(
        self,
        limits: SocketLimits,
        make_allowance: Callable[[float], Allowance],
        refused: Callable[[Code], int],
        door: Door,
        **uvicorn: Any,
    ) -> None:
        super().__init__(**uvicorn)
        self._limits = limits
        self._others = make_allowance(self.loop.time())
        self._refused = refused
        self._door = door
        self._is_new = not self.config.ws_per_message_deflate
        self._usual: Handshake | None = None
        self._is_cut = self._is_lost = False
        self._came_whole = False
        self._unparsed = bytearray()
        self._slow: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self.close_timeout = CLOSING_SECONDS

    def data_received(self, data: bytes) -> None:
        """Read a little at a time: the parser takes all it is given apart before anybody can say stop."""
        if self._is_new:  # uvicorn hands over the whole request at once, and nothing else
            self._is_new = False
            self._usual = handshake.read(data)
            if self._usual is not None:
                self._begin(self._usual)
                return
            self.conn = self._protocol(State.CONNECTING)
        self._unparsed += data
        self._read_on()

    async def receive(self) -> ASGIReceiveEvent:
        """Hand out a message; when no other waits, read on."""
        message = await super().receive()
        if self._unparsed and not self.read_paused:
            self.loop.call_soon(self._read_on)
        return message

    async def send(self, message: ASGISendEvent) -> None:
        """Send what the app says; to accept a usual handshake takes no library."""
        usual, self._usual = self._usual, None
        if usual is None or self.disconnected or message["type"] != "websocket.accept":
            await super().send(message)
        elif not self.transport.is_closing():
            self._accept(usual, message)

    def _begin(self, usual: Handshake) -> None:
        """Ask the app, as uvicorn does when its library has read a handshake and finds nothing wrong with it."""
        self.handshake_initiated = True
        self.conn = self._protocol(State.OPEN)
        self.scope = {
            "type": "websocket",
            "asgi": {"version": self.config.asgi_version, "spec_version": "2.4"},
            "http_version": "1.1",
            "scheme": self.scheme,
            "server": self.server,
            "client": self.client,
            "root_path": self.root_path,
            "path": self.root_path + usual.path.decode(),
            "raw_path": self.root_path.encode() + usual.path,
            "query_string": usual.query,
            "headers": usual.headers,
            "subprotocols": usual.subprotocols,
            "state": self.app_state.copy(),
            "extensions": {"websocket.http.response": {}},
        }
        self.queue.put_nowait({"type": "websocket.connect"})
        task = self.loop.create_task(self.run_asgi())
        task.add_done_callback(self.on_task_complete)
        self.tasks.add(task)

    def _protocol(self, state: State) -> StrictProtocol:
        return StrictProtocol(state=state, max_size=self.config.ws_max_size, logger=self.logger)

    def _accept(self, usual: Handshake, message: WebSocketAcceptEvent) -> None:
        self.logger.info('%s - "WebSocket %s" [accepted]', self.scope["client"], self.scope["path"])
        self.handshake_complete = True
        headers = [*self.default_headers, *message.get("headers", ())]
        # It leaves with the first frame, if the app says that at once: one packet, and one write.
        self.conn.writes.append(usual.answer(message.get("subprotocol"), headers))
        self.loop.call_soon(self._write)
        self.start_keepalive()

    def _write(self) -> None:
        if waiting := self.conn.data_to_send():
            self.transport.write(b"".join(waiting))

    def _read_on(self) -> None:
        while self._unparsed and not self.read_paused and not self._is_cut:
            some = bytes(self._unparsed[:AT_A_TIME])
            del self._unparsed[:AT_A_TIME]
            self._read(some)
        if self._is_cut:
            self._unparsed.clear()

    def _read(self, data: bytes) -> None:
        """Watch that what has begun comes to its end."""
        self._came_whole = False
        super().data_received(data)
        if self._came_whole and self._slow is not None:
            self._slow.cancel()
            self._slow = None
        if self._slow is None and (self.frames or self.conn.reader.buffer):
            self._wait_for_the_rest()

    def send_receive_event_to_app(self) -> None:
        """Have a whole message."""
        self._came_whole = True
        super().send_receive_event_to_app()

    def handle_cont(self, event: Frame) -> None:
        """Take a further fragment of a message, if it is not one too many."""
        if self._is_allowed():
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answer a ping, if it is not one too many."""
        self._came_whole |= not self.frames
        if self._is_allowed():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Take a pong, if it is not one too many."""
        self._came_whole |= not self.frames
        if self._is_allowed():
            super().handle_pong(event)

    def handle_parser_exception(self) -> None:
        """Send the close frame and read on for a moment: with unread data TCP would drop what the peer has not got."""
        close = self.conn.close_sent
        if close is None:
            raise AssertionError("failed without a close frame")
        self._is_cut = self.close_sent = self.disconnected = True
        self.frames = []
        self.queue.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        if not self.transport.can_write_eof():  # over TLS there is no closing of one side
            self.transport.close()
            return
        self.transport.write_eof()
        if self.read_paused:
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.close)

    def pause_writing(self) -> None:
        """Wait for the peer to take what it was sent."""
        super().pause_writing()
        self._unread = self.loop.call_later(self._limits.pong_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no longer: the peer reads."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def keepalive_timeout(self) -> None:
        """Close, and cut: a peer that answers no ping may take no close frame either."""
        super().keepalive_timeout()
        self.disconnected |= self.close_sent  # whoever is about to answer meets somebody who left, not a mistake
        self.leave()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """Cut the connection if the peer does not let it close."""
        super().on_task_complete(task)
        self.leave()

    def shutdown(self) -> None:
        """Close with 1012; a connection that is closing already has its deadline."""
        if not self.transport.is_closing():
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers, and release the connection's place."""
        self._is_lost = True
        super().connection_lost(exc)
        if self.client is not None:
            self._door.release(self.client[0])
        for timer in (self._slow, self._unread, self._leaving):
            if timer is not None:
                timer.cancel()

    def _is_allowed(self) -> bool:
        if self._is_cut:  # by a frame before this one, of those that came together
            return False
        if self._others.take(self.loop.time()):
            return True
        self._cut(Code.RATE_LIMITED)
        return False

    def _wait_for_the_rest(self) -> None:
        self._slow = self.loop.call_later(self._limits.frame_timeout, self._too_slow)

    def _too_slow(self) -> None:
        if self.read_paused:  # it is the app that is slow
            self._wait_for_the_rest()
            return
        self._cut(Code.FRAME_TIMEOUT)

    def _cut(self, code: Code) -> None:
        """Close with a code of ours, which is all that a peer this far from the profile is told."""
        if self.transport.is_closing():
            return
        if self.close_sent:  # it was told already, and goes on
            self.transport.abort()
            return
        self.conn.fail(self._refused(code), code)
        self.handle_parser_exception()

    def leave(self) -> None:
        """Cut the connection in a few seconds, if it has not closed by then."""
        if self._leaving is None and not self._is_lost:
            self._leaving = self.loop.call_later(LEAVING_SECONDS, self.transport.abort)
