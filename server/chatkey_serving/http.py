"""An HTTP/1.1 connection with a deadline at every stage, and limits on the size of requests."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Final

import httptools

from chatkey_protocol.codes import Code
from chatkey_serving import handshake
from chatkey_serving.deadline import Deadline
from chatkey_serving.exchange import MOST_UNREAD, Exchange, head
from chatkey_serving.request import END, MOST_LINES, Invalid, Request, check_size, check_unfinished, without_offer
from chatkey_serving.site import CONNECTION, LOG, reset
from chatkey_serving.whole import WholeExchange

if TYPE_CHECKING:
    from chatkey_serving.request import Headers
    from chatkey_serving.site import Address, Scope, Site

SCHEMES: Final = {"http": ("http", "https"), "websocket": ("ws", "wss")}
"""For each kind of scope, the schemes without and with TLS."""
ASGI: Final = {
    "http": {"version": "3.0", "spec_version": "2.3"},
    "websocket": {"version": "3.0", "spec_version": "2.4"},
}
LEAST_CHECKED: Final = 4 * MOST_LINES
"""A smaller head cannot have too many lines."""
LINGERING_SECONDS: Final = 2.0
"""How long a client may go on sending a request that is already answered with an error."""
LAST_HEADERS: Final = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"connection", b"close"),
]
"""The headers of a response that the application does not see."""


class HttpConnection(asyncio.Protocol):
    """Answers one request after the other. Requests that arrive early wait unparsed, and reading pauses.

    The connection breaks if a request is not complete in time, or if the client does not read the response. An invalid
    or too large request gets a response with an error, without the application. A client that half-closes the
    connection still gets its responses, except over TLS.
    """

    transport: asyncio.Transport
    client: Address | None = None

    def __init__(self, site: Site) -> None:
        self.site = site
        self.writable = asyncio.Event()
        self.writable.set()
        self._parser = httptools.HttpRequestParser(self)
        loop = asyncio.get_running_loop()
        self._deadline, self._unsent = Deadline(loop), Deadline(loop)
        self._most = 2 * (site.limits.head_bytes + site.limits.body_bytes)
        self._make_exchange = Exchange if site.answers is None else partial(WholeExchange, site.answers)
        self._exchange: Exchange | WholeExchange | None = None
        self._headers: Headers = []
        self._unparsed = b""
        self._body_left: int | None = 0
        self._received = self._counted = 0
        self._upgrade: tuple[Scope, handshake.Handshake] | None = None
        self._is_in_head = self._is_timed = self._is_reading = True
        self._is_answering = self._is_parsing = self._is_last = self._is_over = self._is_spent = False
        self._is_head_request = False

    # What the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request. Break the connection if the client's address has too many connections."""
        self.transport = transport
        self._server = _address(transport, "sockname")
        self._is_secure = transport.get_extra_info("sslcontext") is not None
        client = _address(transport, "peername")
        if not self.site.admit(client):
            transport.abort()
            return
        self.client = client
        self._deadline.start(self.site.limits.request_timeout, self._too_slow)
        self.site.enter(self)

    def data_received(self, data: bytes) -> None:
        """Parse more data, or keep it until the current response is complete."""
        if self._is_over:
            self._received += len(data)
            if self._received > self._most:
                self.transport.abort()
            return
        known = len(self._unparsed)
        if known:
            data = self._unparsed + data
        if not self._is_answering:
            self._read_on(data, known)
            return
        self._unparsed = data
        if len(data) > MOST_UNREAD:
            self.pause_reading()

    def eof_received(self) -> bool:
        """Answer what has arrived, and then close. TLS cannot close only one direction."""
        self._is_last = True
        if self._is_secure or not self._is_answering:
            return False
        self._deadline.start(self.site.limits.request_timeout, self.cut)
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Stop all timers, and stop counting this connection."""
        del self._parser  # otherwise connection and parser would be a reference cycle
        self._stop_answering()
        self._exchange = None
        self._unparsed = b""
        self._stop_timers()
        self.writable.set()
        self._count(0)
        self.site.release(self.client)
        self.site.leave(self)

    def pause_writing(self) -> None:
        self.writable.clear()
        self._look_at_the_unsent()

    def resume_writing(self) -> None:
        """Stop the timer for unread data, unless the client has not read the end of the last response."""
        self.writable.set()
        self._unsent.stop()
        if self._exchange is None or self._exchange.is_done:
            self._look_at_the_unsent()
            self._go_on()

    # What the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header. Trailers are dropped: the application has already decided by the headers (RFC 9110 6.5.1)."""
        if self._is_in_head:
            self._headers.append((name.lower(), value.rstrip()))

    def on_body(self, body: bytes) -> None:
        if self._exchange is not None:
            self._exchange.add(body)

    def on_message_complete(self) -> None:
        """Note the end of a body. A request without a body is complete with its head.

        We decide by the headers whether a request is the last one. The parser would also believe a trailer.
        """
        self._is_spent = not self._parser.should_keep_alive()
        if not self._is_in_head and self._exchange is not None:
            self._body_left = self._received = 0
            self._is_in_head = True
            self._complete(self._exchange)

    # What an exchange and the server call

    @property
    def waits_until(self) -> float | None:
        """When the connection ends unless its client completes a request, or None if it does not wait for one."""
        return self._deadline.due

    def pause_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self.transport.resume_reading()

    def end_exchange(self) -> None:
        """Close the connection after a last response. Otherwise answer the next request, or wait for one."""
        if self._exchange is None or self._exchange.closes:
            self._close(lingers=not self._is_in_head)
        else:
            self._go_on()

    def refuse(self, error: Invalid, *headers: tuple[bytes, bytes]) -> None:
        """Send a response without the application (no body for HEAD, RFC 9110 9.3.2), and close the connection.

        If the request already has a response, only break the connection.
        """
        LOG.warning(str(error))
        if not self._is_in_head and self._exchange is not None and self._exchange.has_started:
            self.cut()
            return
        self._stop_answering()
        self._unparsed = b""
        code = Code.TOO_LARGE if error.status in {413, 414, 431} else Code.PARAMETER_INVALID
        refusal = {"data": None, "error": {"code": code, "message": str(error)}}
        body = json.dumps(refusal, separators=(",", ":")).encode()
        first = head(error.status, [*LAST_HEADERS, *headers, (b"content-length", b"%d" % len(body))])
        self.transport.write(first + (b"" if self._is_head_request else body))
        self._close(lingers=True)

    def shut_down(self) -> None:
        """Break an idle connection: over TLS, browsers do not answer a close. Otherwise close after the response.

        A connection whose response is withheld on purpose is reset.
        """
        if self._exchange is None or self._exchange.is_done:
            self.cut()
        elif self._exchange.is_withheld:
            reset(self.transport)
        else:
            self._exchange.closes = True

    def cut(self) -> None:
        """Break the connection at once."""
        self._is_over = True
        self._stop_answering()
        self.transport.abort()

    # Reading

    def _go_on(self) -> None:
        """Read the next request, unless the client does not read the responses."""
        self._is_answering = not self.writable.is_set()
        if not (self._is_answering or self._is_parsing or self._is_over):
            self.resume_reading()
            self._read_on(self._unparsed)

    def _read_on(self, data: bytes, known: int = 0) -> None:
        """Parse and answer what has arrived. The first `known` bytes were looked at before.

        The parser gets no byte beyond the end of a message, which is an empty line or known from `Content-Length`.
        """
        at = 0
        self._is_parsing = True
        try:
            while at < len(data) and not self._is_answering and not self._is_over:
                end = self._end_of_body(data, at) if not self._is_in_head else self._end_of_head(data, at, known)
                if end == at:
                    break
                part, at = data[at:end], end
                if self._is_in_head:
                    self._read_head(part)
                else:
                    self._read_body(part)
        except httptools.HttpParserError:
            self.refuse(Invalid())
        except Invalid as error:
            self.refuse(error)
        self._is_parsing = False
        self._unparsed = b"" if self._is_over else data[at:]
        if self._upgrade is not None:
            self._hand_over(*self._upgrade)
        elif not self._is_answering and not self._is_over:
            self._settle()

    def _end_of_head(self, data: bytes, at: int, known: int) -> int:
        """Return where a head ends, or `at` if it is incomplete. Raises `Invalid`."""
        end = data.find(END, max(at, known - len(END)) if known else at)
        if end >= 0:
            return end + len(END)
        check_unfinished(data[at:], known - at, self.site.limits.head_bytes)
        return at

    def _end_of_body(self, data: bytes, at: int) -> int:
        """Return where the next part of a body ends. Without a length, bytes that may belong to its end are kept."""
        if self._body_left is not None:
            return min(at + self._body_left, len(data))
        end = data.find(END, at)
        if end >= 0:
            return end + len(END)
        perhaps_end = next((size for size in (3, 2, 1) if data.endswith(END[:size])), 0)
        return max(at, len(data) - perhaps_end)

    def _read_head(self, data: bytes) -> None:
        if len(data) > LEAST_CHECKED:
            check_size(data, self.site.limits.head_bytes)
        while data[:2] == b"\r\n":  # empty lines before a request are ignored (RFC 9112 2.2)
            data = data[2:]
        if not data:
            return
        if self._is_spent:
            self._parser, self._is_spent = httptools.HttpRequestParser(self), False
        self._is_head_request = data[:5] == b"HEAD "
        self._headers = []
        request = Request(data)
        is_offer = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            is_offer = True
        request.read(self._headers)
        if not is_offer:
            self._begin(request)
        elif request.offers_socket and self.site.has_sockets:
            self._open(request)
        else:
            bare = without_offer(data)
            if bare == data:  # CONNECT, which asks for a tunnel
                raise Invalid
            self._is_spent = True
            self._read_head(bare)

    def _begin(self, request: Request) -> None:
        self._exchange = exchange = self._make_exchange(self, request)
        if request.body_bytes == 0:
            self._complete(exchange)
        else:
            self._body_left = request.body_bytes
            self._is_in_head = False

    def _read_body(self, data: bytes) -> None:
        """Parse a part of a body. A body that is much larger than the application may read breaks the connection."""
        self._received += len(data)
        if self._received > self._most:
            self.cut()
            return
        if self._body_left is not None:
            self._body_left -= len(data)
        self._parser.feed_data(data)

    def _complete(self, exchange: Exchange | WholeExchange) -> None:
        """Note that the request is complete. While it is being answered, its client cannot be too slow."""
        self._is_timed = False
        exchange.complete()
        if not exchange.is_done:
            self._is_answering = True
            self._deadline.stop()

    def _settle(self) -> None:
        """Start the timeout of an unfinished request, or of an idle connection."""
        unfinished = len(self._unparsed) + self._received
        if self._is_last:
            self._close(lingers=False)
        elif not self._is_timed:
            self._is_timed = bool(unfinished) or not self._is_in_head
            if self._is_timed:
                self._deadline.start(self.site.limits.request_timeout, self._too_slow)
            else:
                self._deadline.start(self.site.limits.idle_timeout, self._too_idle)
        if unfinished != self._counted:
            self._count(unfinished)

    def _count(self, unfinished: int) -> None:
        """Tell the door how many bytes of an unfinished request this connection holds."""
        more, self._counted = unfinished - self._counted, unfinished
        if not self.site.hold(self.client, more) and more > 0:
            self.refuse(Invalid("The unfinished requests of this address are too large.", 503))

    def scope(self, kind: str, request: Request) -> Scope:
        """Return the ASGI scope of a request."""
        scope: Scope = {
            "type": kind,
            "asgi": ASGI[kind],
            "http_version": request.version,
            "server": self._server,
            "client": self.client,
            "scheme": SCHEMES[kind][self._is_secure],
            "root_path": "",
            "path": request.path,
            "raw_path": request.raw_path,
            "query_string": request.query,
            "headers": request.headers,
            "state": self.site.state.copy(),
            "extensions": {CONNECTION: self},
        }
        if kind == "http":
            scope["method"] = request.method.decode()
        return scope

    # Opening a WebSocket

    def _open(self, request: Request) -> None:
        """Prepare a WebSocket, or refuse the handshake (RFC 6455 4.2, 4.4)."""
        if request.version == "1.0":
            raise Invalid("A WebSocket requires HTTP/1.1.")
        if [value for name, value in request.headers if name == b"sec-websocket-version"] != [handshake.VERSION]:
            upgrade = [(b"Upgrade", b"websocket"), (b"Sec-WebSocket-Version", handshake.VERSION)]
            self.refuse(Invalid("This server only supports WebSocket version 13.", 426), *upgrade)
            return
        opening = handshake.read(request.method, request.target, request.headers)
        if opening is None:
            raise Invalid("This is not a valid WebSocket handshake.")
        self._upgrade = self.scope("websocket", request), opening
        self._is_answering = True

    def _hand_over(self, scope: Scope, opening: handshake.Handshake) -> None:
        """Pass the connection to a WebSocket, which has its own timeouts."""
        from chatkey_serving.websocket import SocketConnection  # noqa: PLC0415 - the fake has no WebSockets

        self._stop_timers()
        self._count(0)
        del self._parser
        self.site.connections.discard(self)
        self._exchange = self._upgrade = None
        socket = SocketConnection(self.site, self.transport, scope, opening)
        self.transport.set_protocol(socket)
        if self._unparsed:
            socket.data_received(self._unparsed)

    # Ending

    def _close(self, *, lingers: bool) -> None:
        """Close. If the client is still sending, read on for a moment, or TCP would discard the response."""
        self._is_over = True
        if lingers and self.transport.can_write_eof():  # TLS cannot close only one direction
            self.transport.write_eof()
            self.resume_reading()
            self._deadline.start(LINGERING_SECONDS, self.transport.close)
        else:
            self.transport.close()
        self._look_at_the_unsent()

    def _too_idle(self) -> None:
        self._close(lingers=False)

    def _stop_answering(self) -> None:
        if self._exchange is not None and not self._exchange.is_done:
            self._exchange.give_up()

    def _stop_timers(self) -> None:
        self._deadline.end()
        self._unsent.end()

    def _too_slow(self) -> None:
        if self._is_reading:
            self.cut()
        else:  # the application is slow, not the client
            self._deadline.start(self.site.limits.request_timeout, self._too_slow)

    def _look_at_the_unsent(self) -> None:
        """Break the connection if the client reads nothing within the timeout. A client that reads slowly may go on."""
        self._unsent.stop()
        if unsent := self.transport.get_write_buffer_size():
            self._unsent.start(self.site.limits.request_timeout, partial(self._look_again, unsent))

    def _look_again(self, unsent: int) -> None:
        if self.transport.get_write_buffer_size() < unsent:
            self._look_at_the_unsent()
        else:
            self.cut()


def _address(transport: asyncio.Transport, name: str) -> Address | None:
    """Return the address of one end of the connection. The addresses of Unix sockets are not tuples."""
    found = transport.get_extra_info(name)
    return (str(found[0]), int(found[1])) if isinstance(found, tuple) else None
