"""One request and its response, as the ASGI application sees them."""

from __future__ import annotations

import asyncio
import http
import string
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote

from chatkey_serving.site import LOG, REQUESTS

if TYPE_CHECKING:
    from chatkey_serving.request import Headers, Invalid, Request
    from chatkey_serving.site import App, Message, Scope, Site

MOST_UNREAD: Final = 64 * 1024
"""How many bytes of a body may wait for the application before the connection stops reading."""

MOST_JOINED: Final = 64 * 1024
"""How many bytes of a body are copied behind the head, so that both are sent as one buffer."""

_IN_NAMES: Final = b"!#$%&'*+-.^_`|~" + (string.digits + string.ascii_letters).encode()
"""The characters of a header's name (RFC 9110 5.6.2)."""
_IN_VALUES: Final = b"\t" + bytes({*range(32, 256)} - {127})
"""The characters of a header's value (RFC 9110 5.5). A line end would start another header or response."""
_PHRASES: Final = {status.value: status.phrase for status in http.HTTPStatus}
_STATUS_LINES: Final = {status: f"HTTP/1.1 {status} {_PHRASES.get(status, '')}".encode() for status in range(100, 600)}
_WITHOUT_BODY: Final = frozenset({204, 304})


def head(status: int, headers: Headers) -> bytes:
    """Write the status line and the headers. Raises `ValueError` for a name or value that HTTP does not allow."""
    names, values = [name for name, _ in headers], [value for _, value in headers]
    if not all(names) or b"".join(names).translate(None, _IN_NAMES) or b"".join(values).translate(None, _IN_VALUES):
        raise ValueError("The application sent a header with a name or value that HTTP does not allow.")
    lines = [name + b": " + value for name, value in headers]
    return b"\r\n".join((status_line(status), *lines, b"", b""))


def status_line(status: int) -> bytes:
    """Return the first line of a response, without the line end."""
    return _STATUS_LINES[status]


class Carrier(Protocol):
    """The connection of an exchange. `writable` is set while the client reads fast enough."""

    site: Site
    transport: asyncio.Transport
    writable: asyncio.Event

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def scope(self, kind: str, request: Request, /) -> Scope: ...

    def end_exchange(self) -> None:
        """Note that the response is complete."""
        ...

    def refuse(self, error: Invalid, /) -> None:
        """Send an error instead of a response, and close the connection."""
        ...


class Exchange:
    """An exchange with `site.app`. `is_gone` means that the connection is lost, or that the response is discarded."""

    is_withheld: Final = False

    def __init__(self, connection: Carrier, request: Request) -> None:
        self.scope = connection.scope("http", request)
        self.closes = request.closes
        self.has_started = self.is_done = self.is_gone = False
        self._connection = connection
        self._awaits_continue = request.awaits_continue
        self._changed = asyncio.Event()
        self._is_complete = False
        self._unread = bytearray()
        self._head: bytes | None = None
        self._left: int | None = None
        self._is_chunked = False
        connection.site.start(self.run(connection.site.app))

    def add(self, body: bytes) -> None:
        """Add a part of the request's body. If the application does not keep up, the connection stops reading."""
        if self.is_done:
            return
        self._unread += body
        if len(self._unread) > MOST_UNREAD:
            self._connection.pause_reading()
        self._changed.set()

    def complete(self) -> None:
        """Note that the request is complete."""
        self._is_complete = True
        self._changed.set()

    def give_up(self) -> None:
        """Discard the rest of the response, and tell the application that the client has left."""
        self.is_gone = True
        self._changed.set()

    async def run(self, app: App) -> None:
        """Call the application. If it fails before the response has begun, the response is 500."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:  # noqa: BLE001 - a fault of one request must not end the server
            LOG.exception("The application failed")
        if self.is_done or self.is_gone:
            return
        if self.has_started:
            LOG.error("The application did not complete its response")
            self._connection.transport.close()
            return
        text, self._head, self.closes = b"Internal Server Error", None, True
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text))]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body", "body": text})

    async def receive(self) -> Message:
        """Return more of the request's body. After the response, or if the client has left, return a disconnect."""
        if self._awaits_continue and not self.is_gone:
            self._awaits_continue = False
            self._connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.is_gone and not self.is_done:
            self._connection.resume_reading()
            await self._changed.wait()
            self._changed.clear()
        if self.is_gone or self.is_done:
            return {"type": "http.disconnect"}
        body, self._unread = bytes(self._unread), bytearray()
        return {"type": "http.request", "body": body, "more_body": not self._is_complete}

    async def send(self, message: Message) -> None:
        """Send a part of the response, once the client has read enough of the earlier parts."""
        if not self._connection.writable.is_set():
            await self._connection.writable.wait()
        if self.is_gone:
            return
        expected = "http.response.start" if self._head is None else "http.response.body"
        if self.is_done or message["type"] != expected:
            raise RuntimeError(f"The application sent {message['type']} at the wrong time.")
        if self._head is None:
            self._prepare(message["status"], list(message.get("headers", ())))
        else:
            self._write(self._head, message.get("body", b""), more=message.get("more_body", False))

    def _prepare(self, status: int, given: Headers) -> None:
        """Write the head of the response. ASGI requires that it is sent together with the first part of the body."""
        named = {name.lower(): value for name, value in given}
        headers = [*self._connection.site.headers(), *given]
        length = named.get(b"content-length")
        self.closes |= b"close" in named.get(b"connection", b"").lower()
        if self.scope["method"] == "HEAD":
            pass
        elif status in _WITHOUT_BODY:
            self._left = 0
        elif length is not None:
            self._left = int(length)
        elif self.scope["http_version"] == "1.0":
            self.closes = True  # the end of the connection is the end of the body
        else:
            self._is_chunked = True
            headers.append((b"transfer-encoding", b"chunked"))
        if self.closes and b"connection" not in named:
            headers.append((b"connection", b"close"))
        self._head = head(status, headers)
        self._awaits_continue = False
        if self._connection.site.logs_requests:
            log_request(self.scope, status)

    def _write(self, head: bytes, body: bytes, *, more: bool) -> None:
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("The body of the response has another size than its Content-Length.")
        parts = [] if self.has_started else [head]
        if self._is_chunked:
            parts += _chunk(body, is_last=not more)
        elif body and self.scope["method"] != "HEAD":
            parts.append(body)
        if parts:
            self.has_started = True
            if len(body) <= MOST_JOINED:  # sending one buffer costs less than sending several
                parts = [b"".join(parts)]
            self._connection.transport.writelines(parts)
        if not more:
            self.is_done = True
            self._changed.set()
            self._connection.end_exchange()


def log_request(scope: Scope, status: int) -> None:
    query = scope["query_string"].decode("latin-1")
    target = quote(scope["path"]) + (f"?{query}" if query else "")
    client = "{}:{}".format(*scope["client"]) if scope["client"] else ""
    REQUESTS.info('%s - "%s %s" %s', client, scope.get("method", "WebSocket"), target, status)


def _chunk(data: bytes, *, is_last: bool) -> list[bytes]:
    parts = [b"%x\r\n" % len(data), data, b"\r\n"] if data else []
    return [*parts, b"0\r\n\r\n"] if is_last else parts
