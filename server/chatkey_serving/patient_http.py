"""HTTP beneath the app: uvicorn's own, without endless patience, and without alarm at what a peer does wrong."""

from __future__ import annotations

import logging
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from chatkey_protocol.codes import Code

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn._types import ASGI3Application

    from chatkey_serving.door import Door
    from chatkey_serving.patient_socket import PatientSocket

PIPELINED: Final = 16
"""How many requests may wait behind one under way; uvicorn reads on as each is answered, and keeps them all."""


HOST: Final = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]*")
"""What a `Host` may be made of (RFC 9110 7.2): nothing that two readers would take apart differently."""
WEBSOCKET_VERSION: Final = b"13"
LAST_HEADERS: Final = (
    b"Cache-Control: no-store",
    b"X-Content-Type-Options: nosniff",
    b"Referrer-Policy: no-referrer",
    b"Connection: close",
)


class HttpLimits(Protocol):
    """How much a peer may ask for: seconds, and bytes."""

    @property
    def request_timeout(self) -> float:
        """How long a whole request may take, and how long nothing may be taken of an answer."""
        ...

    @property
    def head_bytes(self) -> int:
        """The most of line and headers."""
        ...

    @property
    def body_bytes(self) -> int:
        """The most of a body; the app refuses what is more."""
        ...


class WrongHost(ValueError):
    """A request that says not once, or not readably, whom it is for (RFC 9112 3.2)."""


class TooMuch(ValueError):
    """A request whose line and headers are more than is read, or that waits behind too many others."""


class PatientHttp(HttpToolsProtocol):
    """An HTTP connection that always has a deadline, and bounds on what it sends.

    uvicorn and its parser set neither. Here the connection is cut if a request does not arrive in time, if the peer
    does not read the response, or if its address has too many connections. Answered with 400: a request line and
    headers that are too long, and too many pipelined requests. The size of a whole request is bounded too, trailers
    included. The app bounds the body (413). `refusal` makes the body of a response from a code and a message.
    """

    def __init__(self, limits: HttpLimits, refusal: Callable[[Code, str], bytes], door: Door, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._refusal = refusal
        self._door = door
        self._seconds = limits.request_timeout
        self._most_in_head = limits.head_bytes
        self._most = 2 * (limits.head_bytes + limits.body_bytes)
        self._received = 0
        self._is_awaited = True
        self._answered: RequestResponseCycle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for the first request, unless this address has too many connections."""
        super().connection_made(transport)
        if self.client is not None and not self._door.admit(self.client[0]):
            self.client = None
            transport.abort()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read on. Bytes that follow a response have the time of a request, even if they never become one."""
        self._received += len(data)
        if self._is_done():
            self._is_awaited = True
        super().data_received(data)
        self._watch()
        if self._is_awaited and self._received > self._most:
            self._stop_answering()
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what came, and with it what came before and waits for its answer, in the shape of every refusal."""
        self._stop_answering()
        self._send_last(400, (b"Content-Type: application/json",), self._refusal(Code.PARAMETER_INVALID, msg))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers, and release the connection's place."""
        super().connection_lost(exc)
        if self.client is not None:
            self._door.release(self.client[0])
        self._stop_answering()
        self._rest()
        self._stop_looking()

    def pause_writing(self) -> None:
        """Wait for the peer to read some of the response."""
        super().pause_writing()
        self._look_at_the_unsent()

    def resume_writing(self) -> None:
        """Wait no longer, unless this is the end of the last response."""
        super().resume_writing()
        self._stop_looking()
        if self._is_done():
            self._look_at_the_unsent()

    def on_response_complete(self) -> None:
        """Wait for the peer to read the rest of the response, which may be less than what pauses writing."""
        super().on_response_complete()
        if self._is_done() and self.transport.get_write_buffer_size():
            self._look_at_the_unsent()

    def on_message_begin(self) -> None:
        """Wait for the rest of a request."""
        self._is_awaited = True
        self._received = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Refuse what is too much; uvicorn answers 400 to whatever is raised here."""
        around = len(self.headers) * len(b": \r\n")
        head = len(self.url) + sum(map(len, chain.from_iterable(self.headers))) + around
        if head > self._most_in_head or len(self.pipeline) >= PIPELINED:
            raise TooMuch
        hosts = self._values(b"host")
        if not all(map(HOST.fullmatch, hosts)) or (len(hosts) != 1 and (hosts or self._is_modern())):
            raise WrongHost
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the request timer: the request is complete."""
        self._is_awaited = False
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to a socket, which sets its own deadlines, or refuse it (RFC 6455 4.2, 4.4)."""
        if not self._is_modern():
            self.send_400_response("A WebSocket is opened by HTTP/1.1.")
        elif self._values(b"sec-websocket-version") != [WEBSOCKET_VERSION]:
            self._send_426_response()
        elif not self._is_done():
            self.send_400_response("A WebSocket is opened once all requests before it are answered.")
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        self._rest()
        self._stop_looking()
        super().handle_websocket_upgrade()
        socket = cast("PatientSocket", self.transport.get_protocol())
        if not socket.handshake_initiated:  # its library could not read the request, and says nothing
            self.send_400_response("This is not an opening handshake of a WebSocket.")
        if self.transport.is_closing():
            self._stop_looking()
            socket.leave()
        # As uvicorn does when a connection is lost, and not here: else each would be a cycle, for Python to look for.
        self.parser = None  # type: ignore[assignment]

    def _is_done(self) -> bool:
        """Tell whether no response is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _is_modern(self) -> bool:
        return self.parser is not None and self.parser.get_http_version() != "1.0"

    def _values(self, header: bytes) -> list[bytes]:
        return [value for name, value in self.headers if name == header]

    def _send_426_response(self) -> None:
        self._stop_answering()
        version = b"Sec-WebSocket-Version: " + WEBSOCKET_VERSION
        message = "This WebSocket is of version 13, and no other."
        body = self._refusal(Code.PARAMETER_INVALID, message)
        self._send_last(426, (b"Content-Type: application/json", b"Upgrade: websocket", version), body)

    def _send_last(self, status: int, headers: tuple[bytes, ...], body: bytes) -> None:
        """Answer beneath the app, HEAD without the body (RFC 9110, 9.3.2), and let the connection go."""
        head = (STATUS_LINE[status].rstrip(), *headers, *LAST_HEADERS, b"Content-Length: %d" % len(body))
        is_head = self.parser is not None and self.parser.get_method() == b"HEAD"
        self.transport.write(b"\r\n".join((*head, b"", b"" if is_head else body)))
        self.transport.close()
        self._look_at_the_unsent()

    def _watch(self) -> None:
        if not self._is_awaited:
            self._rest()
        elif self._patience is None and not self.transport.is_closing():
            self._patience = self.loop.call_later(self._seconds, self._cut)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        self._stop_looking()
        super()._start_asgi_task(cycle, app)

    def _stop_answering(self) -> None:
        """Let the app's answer go nowhere; uvicorn sees to that for the newest of several requests only."""
        if self._answered is not None:
            self._answered.disconnected = True

    def _cut(self) -> None:
        self._stop_answering()
        self.transport.abort()

    def _rest(self) -> None:
        self._is_awaited = False
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _look_at_the_unsent(self) -> None:
        """Cut the connection if the peer reads nothing until the next look; a slow peer may go on."""
        self._stop_looking()
        if unsent := self.transport.get_write_buffer_size():
            self._unread = self.loop.call_later(self._seconds, self._look_again, unsent)

    def _look_again(self, unsent: int) -> None:
        if self.transport.get_write_buffer_size() < unsent:
            self._look_at_the_unsent()
        else:
            self._cut()

    def _stop_looking(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def note_broken_text(record: logging.LogRecord) -> bool:
    """Filter uvicorn's log: text that is not UTF-8 is the peer's fault, a warning and no failure with a traceback."""
    if record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError):
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True
