"""HTTP beneath the app: uvicorn's own, without endless patience, and without alarm at what a peer does wrong."""

from __future__ import annotations

import logging
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from chatkey_protocol.codes import Code

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn._types import ASGI3Application

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
    """Cuts a connection that brings nothing, or half a request, or does not take its answer: many would be too many.

    Neither uvicorn nor its parser bounds what a connection brings. Here line and headers are bounded (400), and how
    many requests wait (400), and the whole of one, whatever stands in it, such as trailers without end. The app bounds
    the body (413). What is refused here has the body that `refusal` makes of code and message, as JSON.
    """

    def __init__(self, limits: HttpLimits, refusal: Callable[[Code, str], bytes], **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._refusal = refusal
        self._seconds = limits.request_timeout
        self._most_in_head = limits.head_bytes
        self._most = 2 * (limits.head_bytes + limits.body_bytes)
        self._received = 0
        self._is_awaited = True
        self._answered: RequestResponseCycle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read on; go on waiting only for a request that has begun."""
        self._received += len(data)
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
        """Wait no longer."""
        super().connection_lost(exc)
        self._stop_answering()
        self._rest()
        self._stop_looking()

    def pause_writing(self) -> None:
        """Wait for the peer to take some of its answer."""
        super().pause_writing()
        self._expect_less_than(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Wait no longer: the peer reads."""
        super().resume_writing()
        self._stop_looking()

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
        """Have a whole request."""
        self._is_awaited = False
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Have a socket, which has its own limits of time, or say which kind of socket there is (RFC 6455 4.4)."""
        if not self._is_modern():
            self.send_400_response("A WebSocket is opened by HTTP/1.1.")
            return
        if self._values(b"sec-websocket-version") != [WEBSOCKET_VERSION]:
            self._send_426_response()
            return
        self._rest()
        self._stop_looking()
        super().handle_websocket_upgrade()
        # As uvicorn does when a connection is lost, and not here: else each would be a cycle, for Python to look for.
        self.parser = None  # type: ignore[assignment]

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

    def _watch(self) -> None:
        if not self._is_awaited:
            self._rest()
        elif self._patience is None and not self.transport.is_closing():
            self._patience = self.loop.call_later(self._seconds, self._cut)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
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

    def _expect_less_than(self, unsent: int) -> None:
        """Look again whether something was taken: a slow line is no silent one."""
        self._unread = self.loop.call_later(self._seconds, self._look_at_the_rest, unsent)

    def _look_at_the_rest(self, unsent: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < unsent:
            self._expect_less_than(left)
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
