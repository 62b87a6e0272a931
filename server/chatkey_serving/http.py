"""An HTTP/1.1 connection with a timeout at every stage, and limits on the size of requests."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import httptools

from chatkey_protocol.codes import Code
from chatkey_serving import handshake
from chatkey_serving.exchange import Exchange, head
from chatkey_serving.site import CONNECTION, LOG
from chatkey_serving.websocket import SocketConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatkey_serving.site import Address, Headers, Scope, Site

PIPELINED: Final = 16
"""How many requests may wait behind the current one. One packet can contain hundreds of requests."""
IDLE_SECONDS: Final = 5.0
"""How long a connection stays open after a response."""
HOST: Final = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]*")
"""The characters allowed in a `Host` (RFC 9110 7.2). Others could be parsed differently by different readers."""
SCHEMES: Final = {
    ("http", False): "http",
    ("http", True): "https",
    ("websocket", False): "ws",
    ("websocket", True): "wss",
}
LAST_HEADERS: Final = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"connection", b"close"),
]
"""The headers of a response that the application does not see."""


class WrongHost(ValueError):
    """The request has no valid `Host`, or more than one (RFC 9112 3.2)."""


class TooMuch(ValueError):
    """The request line and headers are too large, or too many requests are pipelined."""


class HttpConnection(asyncio.Protocol):
    """The connection breaks if a request is not complete in time, or if the client does not read the response.

    The response is 400 if a request is invalid, if its request line and headers are too long, or if too many requests
    are pipelined. The size of a whole request is limited too, including trailers.
    """

    transport: asyncio.Transport
    client: Address | None = None

    def __init__(self, site: Site) -> None:
        self.site = site
        self.writable = asyncio.Event()
        self.writable.set()
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        # Otherwise the parser would refuse a whole request because of data behind it that will not be read.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._most = 2 * (site.limits.head_bytes + site.limits.body_bytes)
        self._received = 0
        self._is_awaited = True
        self._is_reading = True
        self._upgraded: Scope | None = None
        self._read: Exchange | None = None
        self._answered: Exchange | None = None
        self._waiting: deque[Exchange] = deque()
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    # What the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request. Break the connection if the client's address has too many connections."""
        self.transport = transport
        self._server = _address(transport, "sockname")
        self._is_secure = transport.get_extra_info("sslcontext") is not None
        client = _address(transport, "peername")
        self.site.connections.add(self)
        if client is not None and self.site.door is not None and not self.site.door.admit(client[0]):
            transport.abort()
            return
        self.client = client
        self._await_rest()

    def data_received(self, data: bytes) -> None:
        """Parse more data. After a response, the first byte of the next request starts the request timeout."""
        self._received += len(data)
        if not self._is_awaited and self._is_done():
            self._stop_deadline()
            self._is_awaited = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._upgrade()
        except httptools.HttpParserError:
            LOG.warning("Invalid HTTP request received.")
            self._refuse(400, "Invalid HTTP request received.")
        if not self._is_awaited or self.transport.is_closing():
            return
        if self._received > self._most:
            self._stop_answering()
            self.transport.close()
        elif self._deadline is None:
            self._await_rest()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Stop all timers, and stop counting this connection."""
        del self._parser  # otherwise connection and parser would be a reference cycle
        self._stop_answering()
        for exchange in (*self._waiting, self._read):
            if exchange is not None:
                exchange.give_up()
        self._answered = self._read = None
        self._stop_deadline()
        self._stop_looking()
        self.writable.set()
        if self.client is not None and self.site.door is not None:
            self.site.door.release(self.client[0])
        self.site.leave(self)

    def pause_writing(self) -> None:
        self.writable.clear()
        self._look_at_the_unsent()

    def resume_writing(self) -> None:
        """Stop the timer for unread data, unless the client has not read the end of the last response."""
        self.writable.set()
        self._stop_looking()
        if self._is_done():
            self._look_at_the_unsent()

    # What the parser calls

    def on_message_begin(self) -> None:
        self._is_awaited = True
        self._received = 0
        self._url = b""
        self._headers: Headers = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Check the pipeline, `Host`, and the size of the headers, and begin to answer. An exception becomes a 400."""
        parser = self._parser
        around = len(self._headers) * len(b": \r\n")
        size = len(self._url) + sum(map(len, chain.from_iterable(self._headers))) + around
        if size > self.site.limits.head_bytes or len(self._waiting) >= PIPELINED:
            raise TooMuch
        version = parser.get_http_version()
        hosts = self._values(b"host")
        if not all(map(HOST.fullmatch, hosts)) or (len(hosts) != 1 and (hosts or version != "1.0")):
            raise WrongHost
        if self.site.has_sockets and self._wants_socket():
            self._read, self._upgraded = None, self._scope("websocket", version)
            return
        scope = self._scope("http", version)
        scope["method"] = parser.get_method().decode("ascii")
        closes = version == "1.0" or parser.should_upgrade() or not parser.should_keep_alive()
        awaits_continue = any(value.lower() == b"100-continue" for value in self._values(b"expect"))
        self._begin(Exchange(self, scope, closes=closes, awaits_continue=awaits_continue))

    def on_body(self, body: bytes) -> None:
        if self._read is not None:
            self._read.add(body)

    def on_message_complete(self) -> None:
        """Stop the request timeout, because the request is complete."""
        self._is_awaited = False
        self._stop_deadline()
        if self._read is not None:
            self._read.complete()
            if self._read.is_done:
                self._wait_for_next()

    # What an exchange and the server call

    def pause_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self.transport.resume_reading()

    def end_exchange(self, exchange: Exchange) -> None:
        """Close the connection after a last response. Otherwise answer the next request, or wait for one.

        A timer is needed because a small rest of a response does not pause writing.
        """
        if exchange.closes:
            self.transport.close()
        elif not self.transport.is_closing():
            self.resume_reading()
            if self._waiting:
                self._answer(self._waiting.popleft())
            elif not self._is_awaited:
                self._wait_for_next()
        if self._is_done() and self.transport.get_write_buffer_size():
            self._look_at_the_unsent()

    def shut_down(self) -> None:
        """Break an idle connection: over TLS, browsers do not answer a close. Otherwise close after the response."""
        if self._answered is None or self._answered.is_done:
            self.transport.abort()
        else:
            self._answered.closes = True

    # Inside

    def _scope(self, kind: str, version: str) -> Scope:
        raw_path, query = _split(self._url)
        path = raw_path.decode("ascii")
        return {
            "type": kind,
            "asgi": {"version": "3.0", "spec_version": "2.3" if kind == "http" else "2.4"},
            "http_version": version,
            "server": self._server,
            "client": self.client,
            "scheme": SCHEMES[kind, self._is_secure],
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": self._headers,
            "state": self.site.state.copy(),
            "extensions": {CONNECTION: self},
        }

    def _begin(self, exchange: Exchange) -> None:
        self._read = exchange
        if self._is_done():
            self._answer(exchange)
        else:
            self.pause_reading()
            self._waiting.append(exchange)

    def _answer(self, exchange: Exchange) -> None:
        self._answered = exchange
        self._stop_looking()
        self.site.start(exchange.run(self.site.app))

    def _upgrade(self) -> None:
        """Pass the connection to a WebSocket, which has its own timeouts, or refuse the upgrade (RFC 6455 4.2, 4.4)."""
        parser = self._parser
        if self._upgraded is None:  # an upgrade to something else; the application answers, and the connection closes
            return
        if self._upgraded["http_version"] == "1.0":
            self._refuse(400, "A WebSocket requires HTTP/1.1.")
        elif self._values(b"sec-websocket-version") != [handshake.VERSION]:
            upgrade = [(b"Upgrade", b"websocket"), (b"Sec-WebSocket-Version", handshake.VERSION)]
            self._refuse(426, "This server only supports WebSocket version 13.", upgrade)
        elif not self._is_done():
            self._refuse(
                400, "A WebSocket can only be opened after all earlier requests on its connection are answered."
            )
        elif (opening := handshake.read(parser.get_method(), self._url, self._headers)) is None:
            self._refuse(400, "This is not a valid WebSocket handshake.")
        else:
            self._stop_deadline()
            self._stop_looking()
            del self._parser
            self.site.connections.discard(self)
            socket = SocketConnection(self.site, self.transport, self._upgraded, opening)
            self.transport.set_protocol(socket)
            self._upgraded = self._answered = None

    def _refuse(self, status: int, message: str, headers: Headers | None = None) -> None:
        """Send a response without the application (no body for HEAD, RFC 9110 9.3.2), and close the connection.

        Earlier requests on the connection get no response any more.
        """
        self._stop_answering()
        refusal = {"data": None, "error": {"code": Code.PARAMETER_INVALID, "message": message}}
        body = json.dumps(refusal, separators=(",", ":")).encode()
        length = (b"content-length", b"%d" % len(body))
        is_head = self._parser.get_method() == b"HEAD"
        self.transport.write(head(status, [*LAST_HEADERS, *(headers or ()), length]) + (b"" if is_head else body))
        self.transport.close()
        self._look_at_the_unsent()

    def _is_done(self) -> bool:
        """Return whether no response is in progress."""
        return not self._waiting and (self._answered is None or self._answered.is_done)

    def _values(self, header: bytes) -> list[bytes]:
        return [value for name, value in self._headers if name == header]

    def _wants_socket(self) -> bool:
        return self._parser.should_upgrade() and [each.lower() for each in self._values(b"upgrade")] == [b"websocket"]

    def _stop_answering(self) -> None:
        if self._answered is not None and not self._answered.is_done:
            self._answered.give_up()

    def _await_rest(self) -> None:
        self._start(self.site.limits.request_timeout, self._too_slow)

    def _wait_for_next(self) -> None:
        self._start(IDLE_SECONDS, self.transport.close)

    def _start(self, seconds: float, act: Callable[[], None]) -> None:
        self._stop_deadline()
        self._deadline = self._loop.call_later(seconds, act)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        if self._is_reading:
            self._cut()
        else:  # the application is slow, not the client
            self._await_rest()

    def _cut(self) -> None:
        self._stop_answering()
        self.transport.abort()

    def _look_at_the_unsent(self) -> None:
        """Break the connection if the client reads nothing within the timeout. A client that reads slowly may go on."""
        self._stop_looking()
        if unsent := self.transport.get_write_buffer_size():
            self._unread = self._loop.call_later(self.site.limits.request_timeout, self._look_again, unsent)

    def _look_again(self, unsent: int) -> None:
        if self.transport.get_write_buffer_size() < unsent:
            self._look_at_the_unsent()
        else:
            self._cut()

    def _stop_looking(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def _split(target: bytes) -> tuple[bytes, bytes]:
    """Return the path and the query of a request's target. The usual form needs no parser, which would cost more."""
    if target.startswith(b"/") and target.isascii() and b"#" not in target:
        path, _, query = target.partition(b"?")
        return path, query
    url = httptools.parse_url(target)
    return url.path, url.query or b""


def _address(transport: asyncio.Transport, name: str) -> Address | None:
    """Return the address of one end of the connection. The addresses of Unix sockets are not tuples."""
    found = transport.get_extra_info(name)
    return (str(found[0]), int(found[1])) if isinstance(found, tuple) else None
