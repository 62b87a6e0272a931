"""uvicorn's HTTP protocol with timeouts and size limits. A mistake of a peer is not logged as a failure."""

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
"""How many requests may wait behind the current one. uvicorn reads on after each response, and stores all requests."""


HOST: Final = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]*")
"""The characters allowed in a `Host` (RFC 9110 7.2). Others could be parsed differently by different readers."""
WEBSOCKET_VERSION: Final = b"13"
LAST_HEADERS: Final = (
    b"Cache-Control: no-store",
    b"X-Content-Type-Options: nosniff",
    b"Referrer-Policy: no-referrer",
    b"Connection: close",
)


class HttpLimits(Protocol):
    """The timeouts of a connection in seconds, and the limits on sizes in bytes."""

    @property
    def request_timeout(self) -> float:
        """The time within which a request must be complete, and within which a peer must read some of a response."""
        ...

    @property
    def head_bytes(self) -> int:
        """The largest size of the request line and headers."""
        ...

    @property
    def body_bytes(self) -> int:
        """The largest size of a body. The app refuses larger bodies."""
        ...


class WrongHost(ValueError):
    """The request has no valid `Host`, or more than one (RFC 9112 3.2)."""


class TooMuch(ValueError):
    """The request line and headers are too large, or too many requests are pipelined."""


class PatientHttp(HttpToolsProtocol):
    """An HTTP connection with a timeout at every stage, and limits on the size of requests.

    uvicorn and its parser have no such limits. This class breaks the connection if a request is not complete in time,
    if the peer does not read the response, or if the peer's address has too many connections. The response is 400 if
    the request line and headers are too long, or if too many requests are pipelined. The size of a whole request is
    limited too, including trailers. The app limits the body (413). `refusal` makes the body of a response from a code
    and a message.
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
        """Wait for the first request. Break the connection if the peer's address has too many connections."""
        super().connection_made(transport)
        if self.client is not None and not self._door.admit(self.client[0]):
            self.client = None
            transport.abort()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Parse more data. After a response, the first byte of the next request starts the request timeout."""
        self._received += len(data)
        if self._is_done():
            self._is_awaited = True
        super().data_received(data)
        self._watch()
        if self._is_awaited and self._received > self._most:
            self._stop_answering()
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer 400 to the current request and to earlier unanswered requests, in the format of every refusal."""
        self._stop_answering()
        self._send_last(400, (b"Content-Type: application/json",), self._refusal(Code.PARAMETER_INVALID, msg))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers, and stop counting this connection."""
        super().connection_lost(exc)
        if self.client is not None:
            self._door.release(self.client[0])
        self._stop_answering()
        self._rest()
        self._stop_looking()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_at_the_unsent()

    def resume_writing(self) -> None:
        """Stop the timer for unread data, unless the peer has not read the end of the last response."""
        super().resume_writing()
        self._stop_looking()
        if self._is_done():
            self._look_at_the_unsent()

    def on_response_complete(self) -> None:
        """Start the timer for unread data.

        A timer is needed here because a small rest of a response does not pause writing.
        """
        super().on_response_complete()
        if self._is_done() and self.transport.get_write_buffer_size():
            self._look_at_the_unsent()

    def on_message_begin(self) -> None:
        self._is_awaited = True
        self._received = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the pipeline, `Host`, and the size of the headers. uvicorn answers 400 to any exception raised here."""
        around = len(self.headers) * len(b": \r\n")
        head = len(self.url) + sum(map(len, chain.from_iterable(self.headers))) + around
        if head > self._most_in_head or len(self.pipeline) >= PIPELINED:
            raise TooMuch
        hosts = self._values(b"host")
        if not all(map(HOST.fullmatch, hosts)) or (len(hosts) != 1 and (hosts or self._is_modern())):
            raise WrongHost
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the request timer, because the request is complete."""
        self._is_awaited = False
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Pass the connection to a WebSocket, which has its own timeouts, or refuse the upgrade (RFC 6455 4.2, 4.4)."""
        if not self._is_modern():
            self.send_400_response("A WebSocket requires HTTP/1.1.")
        elif self._values(b"sec-websocket-version") != [WEBSOCKET_VERSION]:
            self._send_426_response()
        elif not self._is_done():
            self.send_400_response(
                "A WebSocket can only be opened after all earlier requests on its connection are answered."
            )
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        self._rest()
        self._stop_looking()
        super().handle_websocket_upgrade()
        socket = cast("PatientSocket", self.transport.get_protocol())
        if not socket.handshake_initiated:  # uvicorn's library could not parse the request, and sent no response
            self.send_400_response("This is not a valid WebSocket handshake.")
        if self.transport.is_closing():
            self._stop_looking()
            socket.leave()
        # uvicorn does this only when a connection is lost. Without it, each connection would be a reference cycle.
        self.parser = None  # type: ignore[assignment]

    def _is_done(self) -> bool:
        """Return whether no response is in progress."""
        return self.cycle is None or self.cycle.response_complete

    def _is_modern(self) -> bool:
        return self.parser is not None and self.parser.get_http_version() != "1.0"

    def _values(self, header: bytes) -> list[bytes]:
        return [value for name, value in self.headers if name == header]

    def _send_426_response(self) -> None:
        self._stop_answering()
        version = b"Sec-WebSocket-Version: " + WEBSOCKET_VERSION
        message = "This server only supports WebSocket version 13."
        body = self._refusal(Code.PARAMETER_INVALID, message)
        self._send_last(426, (b"Content-Type: application/json", b"Upgrade: websocket", version), body)

    def _send_last(self, status: int, headers: tuple[bytes, ...], body: bytes) -> None:
        """Send a response without the app (no body for HEAD, RFC 9110 9.3.2), and close the connection."""
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
        """Discard the app's response. If several requests are pipelined, uvicorn does this only for the newest one."""
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
        """Break the connection if the peer reads nothing within the timeout. A peer that reads slowly may continue."""
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
    """Filter uvicorn's log. Text that is not UTF-8 is the peer's mistake, and becomes a warning without a traceback."""
    if record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError):
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True
