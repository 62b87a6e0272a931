"""One HTTP/1.1 connection of the fake. Answers a request as soon as the request is complete, with a single write."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import time
from collections import deque
from functools import cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import httptools

from chatkey_oauth.app import BODY_BYTES
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.http import header_bytes, text_answer

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer, Message
    from chatkey_serving.few_lines import FewLines

MOST_BYTES: Final = 1024 * 1024
"""The largest request, including headers. The providers accept smaller bodies than the lab: `BODY_BYTES`."""

WAITING: Final = 16
"""The maximum number of requests that may wait for the response to an earlier request."""

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

log = logging.getLogger(__name__)


class Request:
    """A request that is being received."""

    __slots__ = ("body", "headers", "is_complete", "keep_alive", "method", "url", "version")

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.method = ""
        self.version = "1.1"
        self.keep_alive = True


class Connection(asyncio.Protocol):
    """A connection of a client. Its open connections are in `among`.

    A request of a provider is answered at once. While a fault delays a response, and while the lab is at work, later
    requests of the same connection wait. `few` limits the log lines about requests that are not HTTP.
    """

    def __init__(self, app: App, among: set[Connection], few: FewLines) -> None:
        self._app = app
        self._among = among
        self._few = few
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._request = Request()
        self._received = 0
        self._waiting: deque[Request] = deque()
        self._pending: asyncio.Handle | asyncio.Future[None] | None = None
        self._held = False
        self._ending = False
        self.idle_since = 0.0

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._among.add(self)
        self.idle_since = self._loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the work on a response that nobody will read."""
        del exc
        self._among.discard(self)
        self._waiting.clear()
        if self._pending is not None:
            self._pending.cancel()

    def pause_writing(self) -> None:
        """Read no further requests while the client does not read the responses."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._received > MOST_BYTES or len(self._waiting) > WAITING:
            self._refuse(413, "The request is too large.")
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # The request offered another protocol, such as h2c, and was answered in HTTP/1.1, which continues.
            self._parser = httptools.HttpRequestParser(self)
            if rest := data[upgrade.args[0] :]:
                self.data_received(rest)
            return
        except httptools.HttpParserError:
            self._refuse(400, "Invalid HTTP request received.")

    # Called by the parser

    def on_message_begin(self) -> None:
        self._request = Request()

    def on_url(self, url: bytes) -> None:
        self._request.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._request.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._request.body += body

    def on_message_complete(self) -> None:
        request, parser = self._request, self._parser
        request.method = parser.get_method().decode()
        request.version = parser.get_http_version()
        request.keep_alive = request.version != "1.0" and parser.should_keep_alive()
        self._received = 0
        if self._pending is None and not self._waiting:
            self._handle(request)
        else:
            self._waiting.append(request)

    # Answering

    def _handle(self, request: Request) -> None:
        try:
            url = httptools.parse_url(request.url)
            path = url.path.decode("ascii")
        except (httptools.HttpParserInvalidURLError, UnicodeDecodeError, AttributeError):
            self._refuse(400, "Invalid HTTP request received.")
            return
        path, query = unquote(path) if "%" in path else path, url.query or b""
        if self._app.is_for_lab(path):
            self._pending = self._loop.create_task(self._lab(request, path, query))
            return
        try:
            answer = self._answer(request, path, query)
        except Exception:
            log.exception("The fake failed to answer %s %s.", request.method, path)
            answer = text_answer("Internal Server Error", 500)
        if answer.delay == 0:
            self._send(request, answer)
        else:
            self._held = True
            late = partial(self._late, request, answer)
            self._pending = self._loop.call_later(answer.delay, late) if answer.delay else self._loop.create_future()

    def _answer(self, request: Request, path: str, query: bytes) -> Answer:
        if len(request.body) > BODY_BYTES:
            return text_answer("The body is too large.", 413)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
        return self._app.answer(
            Call(request.method, path, query.decode("ascii", "surrogateescape"), headers, request.body)
        )

    def _late(self, request: Request, answer: Answer) -> None:
        """Send a response after its delay."""
        self._pending, self._held = None, False
        self._send(request, answer)
        self._next()

    def _send(self, request: Request, answer: Answer) -> None:
        """Send a response. If a fault cuts the response, break the connection instead."""
        if answer.cut == "before":
            self._reset()
            return
        keep_alive = request.keep_alive and not self._ending
        head, body = head_bytes(answer, keep_alive=keep_alive), answer.body
        if answer.cut:
            self._transport.write(head + body[: len(body) // 2])
            self._transport.close()
            return
        self._transport.write(head if request.method == "HEAD" else head + body)
        self._done(keep_alive=keep_alive)

    def _done(self, *, keep_alive: bool) -> None:
        self.idle_since = self._loop.time()
        if not keep_alive:
            self._transport.close()

    def _next(self) -> None:
        """Answer the requests that arrived while a response was pending."""
        while self._waiting and self._pending is None and not self._transport.is_closing():
            self._handle(self._waiting.popleft())

    async def _lab(self, request: Request, path: str, query: bytes) -> None:
        """Pass a request to the lab, which is an ASGI application, and send its response."""
        received = [{"type": "http.request", "body": request.body, "more_body": False}]
        start: Message = {"status": 500, "headers": []}
        body = bytearray()

        async def receive() -> Message:
            return received.pop() if received else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                body.extend(message.get("body", b""))

        try:
            await self._app.control(self._scope(request, path, query), receive, send)
        except Exception:
            log.exception("The lab failed to answer %s %s.", request.method, path)
        keep_alive = request.keep_alive and not self._ending
        lines = [name + b": " + value + b"\r\n" for name, value in start["headers"]]
        ending = b"\r\n" if keep_alive else b"connection: close\r\n\r\n"
        self._transport.write(
            b"".join((status_line(start["status"]), date_line(int(time.time())), *lines, ending, body))
        )
        self._pending = None
        self._done(keep_alive=keep_alive)
        self._next()

    def _scope(self, request: Request, path: str, query: bytes) -> dict[str, Any]:
        given = self._transport.get_extra_info
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": request.version,
            "method": request.method,
            "scheme": "https" if given("sslcontext") else "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "root_path": "",
            "headers": request.headers,
            "client": given("peername")[:2],
            "server": given("sockname")[:2],
            "state": {},
        }

    def _refuse(self, status: int, why: str) -> None:
        """Answer something that cannot be read, and close the connection."""
        if self._transport.is_closing():
            return
        if self._few.admits(why):
            log.warning(why)
        self._transport.write(head_bytes(answer := text_answer(why, status), keep_alive=False) + answer.body)
        self._transport.close()

    # Ending

    def is_idle(self, now: float, seconds: float) -> bool:
        """Return whether no request arrived in the last `seconds`."""
        return self._pending is None and now - self.idle_since > seconds

    def close(self) -> None:
        """Close the connection after the response that is at work. A response that a fault withholds is not sent."""
        self._ending = True
        if self._held:
            self._reset()
        elif self._pending is None:
            self._transport.abort()

    def abort(self) -> None:
        self._transport.abort()

    def _reset(self) -> None:
        """Abort the connection at once, with RST instead of FIN."""
        connection = self._transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


def head_bytes(answer: Answer, *, keep_alive: bool) -> bytes:
    """Return the status line and the headers of a response."""
    lines = [f"{name}: ".encode("latin-1") + header_bytes(value) + b"\r\n" for name, value in answer.headers]
    ending = b"content-length: %d\r\n%b\r\n" % (len(answer.body), b"" if keep_alive else b"connection: close\r\n")
    return b"".join((status_line(answer.status), date_line(int(time.time())), *lines, ending))


@cache
def status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


_date: tuple[int, bytes] = (0, b"")


def date_line(second: int) -> bytes:
    """Return the header `date` (RFC 9110 5.6.7). It is made once a second."""
    global _date  # noqa: PLW0603 - the last line, for all connections
    if _date[0] != second:
        now = time.gmtime(second)
        day, month = DAYS[now.tm_wday], MONTHS[now.tm_mon - 1]
        stamp = f"{day}, {now.tm_mday:02} {month} {now.tm_year} {now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02} GMT"
        _date = (second, f"date: {stamp}\r\n".encode())
    return _date[1]
