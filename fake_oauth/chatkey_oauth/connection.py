"""One HTTP/1.1 connection of the fake. Answers a request as soon as the request is complete, with a single write."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import cache, lru_cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import httptools
import msgspec

from chatkey_oauth.app import BODY_BYTES
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.http import header_bytes, text_answer
from chatkey_serving.dates import http_date
from chatkey_serving.site import LOG, reset

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.asgi import Message
    from chatkey_oauth.engine.http import Answer, Headers
    from chatkey_serving.site import Site

MOST_BYTES: Final = 1024 * 1024
"""The largest request, including headers. The providers accept smaller bodies than the lab: `BODY_BYTES`."""

IDLE_SECONDS: Final = 75.0
"""The time after which a connection without requests is closed."""

WAITING: Final = 16
"""The maximum number of requests that may wait for the response to an earlier request."""

HEAD: Final = b"%bdate: %b\r\ncontent-length: %d\r\n\r\n"
LAST_HEAD: Final = b"%bdate: %b\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"


class Request(msgspec.Struct, gc=False):
    """A request that is being received."""

    url: bytes = b""
    headers: list[tuple[bytes, bytes]] = []
    body: bytes = b""
    method: str = ""
    version: str = "1.1"
    keep_alive: bool = True


class Connection(asyncio.Protocol):
    """A request of a provider is answered at once.

    While a fault delays a response, and while the lab is at work, later requests of the same connection wait.
    """

    transport: asyncio.Transport

    def __init__(self, app: App, site: Site) -> None:
        self._app = app
        self._site = site
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._request = Request()
        self._received = 0
        self._waiting: deque[Request] = deque()
        self._pending: asyncio.Handle | asyncio.Future[None] | None = None
        self._held = False
        self._ending = False
        self._idle_since = 0.0

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._site.connections.add(self)
        self._idle_since = self._loop.time()
        self._alarm = self._loop.call_later(IDLE_SECONDS, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the work on a response that nobody will read."""
        del exc
        self._alarm.cancel()
        self._waiting.clear()
        if self._pending is not None:
            self._pending.cancel()
        self._site.leave(self)

    def pause_writing(self) -> None:
        """Read no further requests while the client does not read the responses."""
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.transport.resume_reading()

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
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
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
        except Exception:  # noqa: BLE001 - the log has the traceback
            LOG.exception("The fake failed to answer %s %s.", request.method, path)
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
            reset(self.transport)
            return
        keep_alive = request.keep_alive and not self._ending
        head, body = head_bytes(answer, keep_alive=keep_alive), answer.body
        if answer.cut:
            self.transport.write(head + body[: len(body) // 2])
            self.transport.close()
            return
        self.transport.write(head if request.method == "HEAD" else head + body)
        self._done(keep_alive=keep_alive)

    def _done(self, *, keep_alive: bool) -> None:
        self._idle_since = self._loop.time()
        if not keep_alive:
            self.transport.close()

    def _next(self) -> None:
        """Answer the requests that arrived while a response was pending."""
        while self._waiting and self._pending is None and not self.transport.is_closing():
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
        except Exception:  # noqa: BLE001 - the log has the traceback
            LOG.exception("The lab failed to answer %s %s.", request.method, path)
        keep_alive = request.keep_alive and not self._ending
        lines = [name + b": " + value + b"\r\n" for name, value in start["headers"]]
        ending = b"\r\n" if keep_alive else b"connection: close\r\n\r\n"
        self.transport.write(
            b"".join(
                (status_line(start["status"]), b"date: %b\r\n" % http_date(int(time.time())), *lines, ending, body)
            )
        )
        self._pending = None
        self._done(keep_alive=keep_alive)
        self._next()

    def _scope(self, request: Request, path: str, query: bytes) -> dict[str, Any]:
        given = self.transport.get_extra_info
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
        if self.transport.is_closing():
            return
        LOG.warning(why)
        self.transport.write(head_bytes(answer := text_answer(why, status), keep_alive=False) + answer.body)
        self.transport.close()

    # Ending

    def _close_if_idle(self) -> None:
        """Close the connection if no request has arrived for a while. Otherwise look again later."""
        left = self._idle_since + IDLE_SECONDS - self._loop.time()
        if left <= 0 and self._pending is None:
            self.transport.abort()
        else:
            self._alarm = self._loop.call_later(max(left, 1.0), self._close_if_idle)

    def shut_down(self) -> None:
        """Close the connection after the response that is at work. A response that a fault withholds is not sent."""
        self._ending = True
        if self._held:
            reset(self.transport)
        elif self._pending is None:
            self.transport.abort()


def head_bytes(answer: Answer, *, keep_alive: bool) -> bytes:
    """Return the status line and the headers of a response."""
    known = known_head(answer.status, answer.headers)
    return (HEAD if keep_alive else LAST_HEAD) % (known, http_date(int(time.time())), len(answer.body))


@lru_cache(maxsize=64)
def known_head(status: int, headers: Headers) -> bytes:
    """Return the part of a head that is the same for all responses with this status and these headers."""
    return status_line(status) + b"".join(
        [b"%b: %b\r\n" % (name.encode(), header_bytes(value)) for name, value in headers]
    )


@cache
def status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()
