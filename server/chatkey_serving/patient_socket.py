"""uvicorn's WebSocket protocol with timeouts, and with a limit on fragments, pings and pongs."""

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
"""Bytes per parser call. Most frames fit into one call, and one call parses at most a few hundred frames."""
CLOSING_SECONDS: Final = 2.0
"""How many seconds a peer may take to answer a close frame."""
LEAVING_SECONDS: Final = 5.0
"""How many seconds the last data may take to reach the peer before the connection is cut."""


class SocketLimits(Protocol):
    """The time limits for a peer, in seconds."""

    @property
    def frame_timeout(self) -> float:
        """The time limit from the first byte of a frame to its last byte."""
        ...

    @property
    def pong_timeout(self) -> float:
        """The time limit within which a peer must read some of the sent data."""
        ...


class Allowance(Protocol):
    """Limits how many fragments, pings and pongs a peer may send."""

    def take(self, now: float, /) -> bool:
        """Count one frame. Returns False if the frame exceeds the limit."""
        ...


class PatientSocket(WebSocketsSansIOProtocol):
    """A socket that ends if the peer sends a message too slowly, sends too many control frames, or does not read.

    uvicorn sends pings and limits the size of a message. uvicorn does not limit fragments, pings or pongs, and waits
    without limit for a peer that does not read. In this class, pings, pongs and fragments have a separate limit.
    `refused` is called with the reason when a peer is disconnected, and returns the close code. `door` counted the
    connection when it was HTTP.

    This class answers handshakes in the form that browsers send. uvicorn's library answers all others.
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
        """Pass data to the parser in small pieces. Each piece is parsed completely, even if the app wants to pause."""
        if self._is_new:  # uvicorn's first call passes the whole request, and nothing else
            self._is_new = False
            self._usual = handshake.read(data)
            if self._usual is not None:
                self._begin(self._usual)
                return
            self.conn = self._protocol(State.CONNECTING)
        self._unparsed += data
        self._read_on()

    async def receive(self) -> ASGIReceiveEvent:
        """Return the app's next message. Then continue to parse, unless more messages are waiting."""
        message = await super().receive()
        if self._unparsed and not self.read_paused:
            self.loop.call_soon(self._read_on)
        return message

    async def send(self, message: ASGISendEvent) -> None:
        """Send the app's message. A usual handshake is accepted without the library."""
        usual, self._usual = self._usual, None
        if usual is None or self.disconnected or message["type"] != "websocket.accept":
            await super().send(message)
        elif not self.transport.is_closing():
            self._accept(usual, message)

    def _begin(self, usual: Handshake) -> None:
        """Start the app as uvicorn does after its library has read a valid handshake."""
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
        # Written later, so that the response and a first frame from the app go out in one packet.
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
        """Parse data, and start a timer for a frame or message that is incomplete."""
        self._came_whole = False
        super().data_received(data)
        if self._came_whole and self._slow is not None:
            self._slow.cancel()
            self._slow = None
        if self._slow is None and (self.frames or self.conn.reader.buffer):
            self._wait_for_the_rest()

    def send_receive_event_to_app(self) -> None:
        """Pass a complete message to the app, and record that it was complete."""
        self._came_whole = True
        super().send_receive_event_to_app()

    def handle_cont(self, event: Frame) -> None:
        """Process one more fragment of a message, if the limit allows it."""
        if self._is_allowed():
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answer a ping, if the limit allows it."""
        self._came_whole |= not self.frames
        if self._is_allowed():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Process a pong, if the limit allows it."""
        self._came_whole |= not self.frames
        if self._is_allowed():
            super().handle_pong(event)

    def handle_parser_exception(self) -> None:
        """Send the close frame, then read on for a short time.

        If received data stayed unread, TCP would discard the close frame.
        """
        close = self.conn.close_sent
        if close is None:
            raise AssertionError("failed without a close frame")
        self._is_cut = self.close_sent = self.disconnected = True
        self.frames = []
        self.queue.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        if not self.transport.can_write_eof():  # TLS cannot close only one direction
            self.transport.close()
            return
        self.transport.write_eof()
        if self.read_paused:
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.close)

    def pause_writing(self) -> None:
        """Break the connection if the peer reads nothing within the time limit."""
        super().pause_writing()
        self._unread = self.loop.call_later(self._limits.pong_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer, because the peer is reading again."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def keepalive_timeout(self) -> None:
        """Close, and break the connection soon. A peer that answers no ping may not answer a close frame either."""
        super().keepalive_timeout()
        self.disconnected |= self.close_sent  # if the app sends now, the peer counts as gone
        self.leave()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """After the app has ended, break the connection if the peer does not let the connection close."""
        super().on_task_complete(task)
        self.leave()

    def shutdown(self) -> None:
        """Close with 1012. A connection that is already closing has its own time limit."""
        if not self.transport.is_closing():
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers, and stop counting this connection."""
        self._is_lost = True
        super().connection_lost(exc)
        if self.client is not None:
            self._door.release(self.client[0])
        for timer in (self._slow, self._unread, self._leaving):
            if timer is not None:
                timer.cancel()

    def _is_allowed(self) -> bool:
        if self._is_cut:  # by an earlier frame in the same data
            return False
        if self._others.take(self.loop.time()):
            return True
        self._cut(Code.RATE_LIMITED)
        return False

    def _wait_for_the_rest(self) -> None:
        self._slow = self.loop.call_later(self._limits.frame_timeout, self._too_slow)

    def _too_slow(self) -> None:
        if self.read_paused:  # the app is slow, not the peer
            self._wait_for_the_rest()
            return
        self._cut(Code.FRAME_TIMEOUT)

    def _cut(self, code: Code) -> None:
        """Close with the close code `code`. A peer that violates the profile in this way gets no `error` frame."""
        if self.transport.is_closing():
            return
        if self.close_sent:  # it already got a close frame, but goes on sending
            self.transport.abort()
            return
        self.conn.fail(self._refused(code), code)
        self.handle_parser_exception()

    def leave(self) -> None:
        """Break the connection in a few seconds if it has not closed by then."""
        if self._leaving is None and not self._is_lost:
            self._leaving = self.loop.call_later(LEAVING_SECONDS, self.transport.abort)
