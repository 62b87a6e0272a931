"""A WebSocket with timeouts, and with a limit on fragments, pings and pongs."""

from __future__ import annotations

import asyncio
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol

from chatkey_protocol.codes import Code
from chatkey_serving.allowance import Allowance
from chatkey_serving.exchange import head, log_request
from chatkey_serving.frames import LengthError, end_of_frame
from chatkey_serving.site import CONNECTION, LOG, SAY

if TYPE_CHECKING:
    from chatkey_serving.handshake import Handshake
    from chatkey_serving.request import Headers
    from chatkey_serving.site import Message, Scope, Site

MOST_UNREAD: Final = 64 * 1024
"""How many bytes may wait for the application before the connection stops reading."""
DATA: Final = (Opcode.TEXT, Opcode.BINARY)
"""Frames that are not read any more after our close frame."""
CLOSING_SECONDS: Final = 2.0
"""How many seconds a peer may take to answer a close frame."""
LEAVING_SECONDS: Final = 5.0
"""How many seconds the last data may take to reach the peer before the connection is cut."""


class DisconnectedError(OSError):
    """The application sends to a peer that has left."""


class SocketConnection(asyncio.Protocol):
    """The socket ends if the peer sends a message too slowly, sends too many control frames, or does not read.

    The next message is parsed after the application has received the previous one. `site.refused` is called with the
    reason when a peer is disconnected, and returns the close code. `site.door` counted the connection when it was HTTP.
    """

    def __init__(self, site: Site, transport: asyncio.Transport, scope: Scope, opening: Handshake) -> None:
        self.transport = transport
        self.is_open = self.is_gone = self.close_sent = False
        self._site = site
        self._scope = scope
        self._client = scope["client"]  # the application may replace it
        self._opening = opening
        self._loop = asyncio.get_running_loop()
        # An idle socket has no queue and no event, because each of them contains deques of 0.7 KB.
        self._messages: list[Message] = [{"type": "websocket.connect"}]
        self._received: asyncio.Future[None] | None = None
        self._drained: asyncio.Event | None = None
        self._protocol = ServerProtocol(state=State.OPEN, max_size=site.limits.frame_bytes, logger=LOG)
        self._others = Allowance(site.limits.frames_per_second, self._loop.time())
        self._response = b""
        self._refusal: tuple[int, Headers, bytearray] | None = None
        self._unparsed = bytearray()
        self._fragments: list[bytes] = []
        self._counted = 0
        self._is_text = self._is_cut = self._is_lost = False
        self._is_reading = True
        self._ping = b""
        self._slow: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._alive: asyncio.TimerHandle | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        site.connections.add(self)
        scope["subprotocols"] = opening.subprotocols
        scope["extensions"] = {"websocket.http.response": {}, CONNECTION: self, SAY: self.say}
        site.start(self._run())

    # What the transport calls

    def data_received(self, data: bytes) -> None:
        """Parse complete frames. Stops reading if the application does not keep up."""
        self._unparsed += data
        self._read_on()
        if len(self._unparsed) > MOST_UNREAD and self._is_reading and self._is_busy():
            self._is_reading = False
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        """Break the connection if the peer reads nothing within the time limit."""
        self._drained = asyncio.Event()
        if seconds := self._site.limits.pong_timeout:
            self._unread = self._loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer, because the peer is reading again, or has left."""
        if self._drained is not None:
            self._drained.set()
            self._drained = None
        if self._unread is not None:
            self._unread.cancel()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Stop all timers, and stop counting this connection."""
        self._is_lost = self.is_gone = True
        self._put({"type": "websocket.disconnect", "code": 1005 if self.is_open else 1006})
        self.resume_writing()
        for timer in (self._slow, self._alive, self._closing, self._leaving):
            if timer is not None:
                timer.cancel()
        self._site.hold(self._client, -self._counted)
        self._site.release(self._client)
        self._site.leave(self)

    # What the application calls

    async def receive(self) -> Message:
        """Return the next message. Then continue to parse. Only one task may wait for a message."""
        if not self._messages:
            self._received = self._loop.create_future()
            await self._received
        message = self._messages.pop(0)
        if self._unparsed and not self._messages:
            self._loop.call_soon(self._read_on)
        return message

    async def send(self, message: Message) -> None:
        """Send a message, once the peer has read enough of the earlier ones. Raises `DisconnectedError`."""
        if self._drained is not None:
            await self._drained.wait()
        if self.is_gone:
            raise DisconnectedError
        kind = message["type"]
        if self.is_open and not self.close_sent and kind == "websocket.send":
            self._say(message)
        elif self.is_open and not self.close_sent and kind == "websocket.close":
            self._close(message.get("code", CloseCode.NORMAL_CLOSURE), message.get("reason") or "")
        elif not self.is_open and kind == "websocket.http.response.body" and self._refusal is not None:
            self._refuse(*self._refusal, message)
        elif self.is_open or self._refusal is not None or self.close_sent:
            raise RuntimeError(f"The application sent {kind} at the wrong time.")
        elif kind == "websocket.accept":
            self._accept(message)
        elif kind == "websocket.close":
            self._respond(403, [], b"")
        elif kind == "websocket.http.response.start":
            self._refusal = (message["status"], list(message.get("headers", ())), bytearray())
        else:
            raise RuntimeError(f"The application sent {kind} before it accepted the socket.")

    def say(self, text: bytes) -> bool:
        """Send a text message at once. Returns False if the peer has left or reads too slowly.

        The same message to many sockets is encoded once.
        """
        if not self.is_open or self.is_gone or self._drained is not None or self._protocol.state is not State.OPEN:
            return False
        response, self._response = self._response, b""
        self.transport.write(response + _frame(text))
        return True

    # What the server calls

    waits_until: float | None = None

    def cut(self) -> None:
        """Break the connection at once."""
        self.transport.abort()

    def shut_down(self) -> None:
        """Close with 1012. A connection that is already closing has its own time limit."""
        if self.transport.is_closing():
            return
        if not self.is_open:
            self._respond(503, [], b"")
        elif not self.close_sent:
            self._close(CloseCode.SERVICE_RESTART, "")
        self.is_gone = True
        self.transport.close()

    def leave(self) -> None:
        """Break the connection in a few seconds if it has not closed by then."""
        if self._leaving is None and not self._is_lost:
            self._leaving = self._loop.call_later(LEAVING_SECONDS, self.transport.abort)

    # Opening

    async def _run(self) -> None:
        try:
            await self._site.app(self._scope, self.receive, self.send)
        except DisconnectedError:
            pass
        except Exception:  # noqa: BLE001 - a fault of one socket must not end the server
            LOG.exception("The application failed")
        if not self.is_open and not self.close_sent and not self.is_gone:
            LOG.error("The application neither accepted nor refused a socket")
            self._respond(500, [(b"content-type", b"text/plain; charset=utf-8")], b"Internal Server Error")
        if self._closing is None:
            self.transport.close()
        self.leave()
        self._scope["extensions"].clear()  # otherwise connection and scope would be a reference cycle

    def _accept(self, message: Message) -> None:
        if self.transport.is_closing():
            return
        self.is_open = True
        headers = [*self._site.headers(), *message.get("headers", ())]
        # Written later, so that the response and a first frame from the application go out in one packet.
        self._response = self._opening.answer(message.get("subprotocol"), headers)
        self._loop.call_soon(self._write)
        if self._site.limits.pong_timeout:
            self._wait_to_ping()
        if self._site.logs_requests:
            log_request(self._scope, 101)

    def _refuse(self, status: int, headers: Headers, body: bytearray, message: Message) -> None:
        body += message.get("body", b"")
        if not message.get("more_body", False):
            self._respond(status, headers, bytes(body))

    def _respond(self, status: int, given: Headers, body: bytes) -> None:
        """Refuse the handshake with an HTTP response."""
        own = [*self._site.headers(), (b"connection", b"close"), (b"content-length", b"%d" % len(body))]
        named = {name.lower() for name, _ in given}
        self.close_sent = True
        self.transport.write(head(status, [*given, *(each for each in own if each[0] not in named)]) + body)
        self.transport.close()
        self._put({"type": "websocket.disconnect", "code": 1006})
        if self._site.logs_requests:
            log_request(self._scope, status)

    # Reading

    def _is_busy(self) -> bool:
        """Return whether the application has yet to receive a message. After the close, messages are discarded."""
        return bool(self._messages) and not self.close_sent

    def _read_on(self) -> None:
        while self._unparsed and not self._is_cut and not self._is_busy():
            try:
                end = end_of_frame(self._unparsed, self._site.limits.frame_bytes)
            except LengthError as error:
                self._fail(CloseCode.PROTOCOL_ERROR, str(error))
                break
            if end is None:
                break
            frame = bytes(self._unparsed[:end])
            del self._unparsed[:end]
            if self.close_sent and frame[0] & 0x0F in DATA:  # RFC 6455 5.5.1
                continue
            self._parse(frame)
        if self._is_cut:
            self._unparsed.clear()
        if not self._is_reading and not self._is_busy() and not self._is_lost:
            self._is_reading = True
            self.transport.resume_reading()
        if self._slow is None and (self._unparsed or self._fragments):
            self._wait_for_the_rest()
        unfinished = len(self._unparsed) + sum(map(len, self._fragments))
        if unfinished != self._counted:
            self._count(unfinished)

    def _count(self, unfinished: int) -> None:
        """Tell the door how many bytes of an unfinished message this connection holds."""
        more, self._counted = unfinished - self._counted, unfinished
        if not self._site.hold(self._client, more) and more > 0:
            self._cut(Code.RATE_LIMITED)

    def _parse(self, data: bytes) -> None:
        """Parse one frame. If the frame is wrong, the library writes a close frame and the end of the stream."""
        self._protocol.receive_data(data)
        events = self._protocol.events_received()
        for event in events:
            if isinstance(event, Frame):
                self._handle(event)
        if not events:
            self._half_close()

    def _handle(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self._be_closed()
            return
        if frame.opcode in {Opcode.PING, Opcode.PONG, Opcode.CONT} and not self._is_allowed():
            return
        if frame.opcode is Opcode.PING:
            self._write()
        elif frame.opcode is Opcode.PONG:
            self._note_pong(bytes(frame.data))
        else:
            self._add(frame)
        if self._slow is not None and not self._fragments:
            self._slow.cancel()
            self._slow = None

    def _add(self, frame: Frame) -> None:
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        self._fragments.append(bytes(frame.data))
        if not frame.fin:
            return
        data, self._fragments = b"".join(self._fragments), []
        if self.close_sent:
            return
        if not self._is_text:
            self._put({"type": "websocket.receive", "bytes": data})
            return
        try:
            text = data.decode()
        except UnicodeDecodeError:
            LOG.warning("Invalid UTF-8 in a text message.")
            self._fail(CloseCode.INVALID_DATA)
        else:
            self._put({"type": "websocket.receive", "text": text})

    def _put(self, message: Message) -> None:
        self._messages.append(message)
        if self._received is not None and not self._received.done():
            self._received.set_result(None)

    def _is_allowed(self) -> bool:
        if self._others.take(self._loop.time()):
            return True
        self._cut(Code.RATE_LIMITED)
        return False

    def _wait_for_the_rest(self) -> None:
        self._slow = self._loop.call_later(self._site.limits.frame_timeout, self._too_slow)

    def _too_slow(self) -> None:
        if self._is_busy():  # the application is slow, not the peer
            self._wait_for_the_rest()
        else:
            self._cut(Code.FRAME_TIMEOUT)

    # Writing

    def _say(self, message: Message) -> None:
        data, text = message.get("bytes"), message.get("text")
        try:
            if data is not None:
                self._protocol.send_binary(data)
            elif text is not None:
                self._protocol.send_text(text.encode())
        except InvalidState as error:
            raise DisconnectedError from error
        self._write()

    def _write(self) -> None:
        waiting = [self._response, *self._protocol.data_to_send()]
        self._response = b""
        if data := b"".join(waiting):
            self.transport.write(data)

    # Pings

    def _wait_to_ping(self) -> None:
        self._alive = self._loop.call_later(self._site.limits.pong_timeout, self._send_ping)

    def _send_ping(self) -> None:
        if self.close_sent or self.transport.is_closing():
            return
        self._ping = os.urandom(4)
        self._protocol.send_ping(self._ping)
        self._write()
        self._alive = self._loop.call_later(self._site.limits.pong_timeout, self.miss_pong)

    def _note_pong(self, data: bytes) -> None:
        if self._ping and data == self._ping:
            self._ping = b""
            if self._alive is not None:
                self._alive.cancel()
            self._wait_to_ping()

    def miss_pong(self) -> None:
        """Close, and break the connection soon. A peer that answers no ping may not answer a close frame either."""
        if self.close_sent or self.transport.is_closing():
            return
        self._protocol.fail(CloseCode.INTERNAL_ERROR, "keepalive ping timeout")
        self._write()
        self.close_sent = self.is_gone = True
        self.transport.close()
        self.leave()

    # Closing

    def _close(self, code: int, reason: str) -> None:
        if self.transport.is_closing():
            return
        self._put({"type": "websocket.disconnect", "code": code, "reason": reason})
        try:
            self._protocol.send_close(code, reason)
        except InvalidState as error:
            raise DisconnectedError from error
        self._write()
        self.close_sent = True
        self._closing = self._loop.call_later(CLOSING_SECONDS, self.transport.close)
        self._loop.call_soon(self._read_on)

    def _be_closed(self) -> None:
        """Process a close frame. The library has already written the answer to it."""
        if self.close_sent:
            self.transport.close()
            return
        self._protocol.receive_eof()  # no frame may follow, and now the library knows the close code
        code, reason = self._protocol.close_code, self._protocol.close_reason
        self._put({"type": "websocket.disconnect", "code": code, "reason": reason})
        self._is_cut = True
        self._write()
        self.transport.close()

    def _cut(self, code: Code) -> None:
        """Close with the close code for `code`. A peer that violates the profile in this way gets no `error` frame."""
        if self.transport.is_closing():
            return
        if self.close_sent:  # it already got a close frame, but goes on sending
            self.transport.abort()
            return
        self._fail(self._site.refused(code), code)

    def _fail(self, code: int, reason: str = "") -> None:
        self._protocol.fail(code, reason)
        self._half_close()

    def _half_close(self) -> None:
        """Send the close frame, then read on for a short time.

        If received data stayed unread, TCP would discard the close frame.
        """
        self._is_cut = self.close_sent = self.is_gone = True
        self._fragments = []
        self._put({"type": "websocket.disconnect", "code": CloseCode.ABNORMAL_CLOSURE})
        self._write()
        if not self.transport.can_write_eof():  # TLS cannot close only one direction
            self.transport.close()
            return
        self.transport.write_eof()
        if self._closing is not None:
            self._closing.cancel()
        self._closing = self._loop.call_later(CLOSING_SECONDS, self.transport.close)


@lru_cache(maxsize=8)
def _frame(text: bytes) -> bytes:
    return Frame(Opcode.TEXT, text).serialize(mask=False)
