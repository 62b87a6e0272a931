"""Sends requests over HTTP, and describes why a connection cannot be opened."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit, urlunsplit

from chatkey_check.exchange import DEFAULT_PORTS, Broken, Exchange, Request, Response
from chatkey_check.target import OptionError, Target, is_loopback
from chatkey_check.wire.deadline import Deadline, Line
from chatkey_check.wire.decoding import Undecodable, unpacked

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS: Final = 5.0
LARGEST: Final = 16 * 1024 * 1024
"""Largest number of bytes read of a body: enough for a page's script bundle, but not for an endless response."""
HTTP2_FRAME: Final = "illegal request line"
"""What h11 says of an answer that begins with a control character. An HTTP/2 frame begins with a zero byte."""
STREAM_ENDED: Final = ("<StreamReset", "<ConnectionTerminated")
BEGUN: Final = frozenset({Broken.SHORT, Broken.UNPACKABLE})
"""What is wrong with an answer that was cut in its body."""
LOOPBACK: Final = ("127.0.0.1", "::1")


class Unreachable(Exception):
    """No connection can be opened. The message says what was tried."""


class Unsendable(Exception):
    """A request that cannot be sent over HTTP. The message says which part is invalid."""


VERSION_NOT_SUPPORTED: Final = 505


class Wire(Protocol):
    """Sends requests to an endpoint."""

    def reach(self, url: str) -> str:
        """Open a connection, close it, and return the address that answered. Raises `Unreachable`."""
        ...

    def shake_hands(self, url: str) -> None:
        """Make a TLS handshake. Raises `ssl.SSLError` or `OSError`."""
        ...

    def send(self, request: Request) -> Exchange:
        """Send one request and wait for the response. Raises `Unsendable`."""
        ...

    def send_together(self, requests: Sequence[Request]) -> list[Exchange]:
        """Send requests at the same moment, each over a separate connection."""
        ...

    def spread(self) -> None:
        """From now on, send each request over a separate connection, so that several can be sent at a time."""
        ...

    def close(self) -> None:
        """Close the connection that was kept for the next request."""
        ...


class HttpWire:
    """HTTP with httpx's transport, which adds no cookies, redirects or proxies.

    HTTP/2 is used for servers that refuse HTTP/1.1, in the handshake or by answering with frames.

    `localhost` and its subdomains are this machine, regardless of the resolver.
    """

    def __init__(
        self,
        target: Target,
        *,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._target = target
        self._now = now
        self._monotonic = monotonic
        self._addresses: dict[tuple[str, int], str] = {}
        self._tls: ssl.SSLContext | None = None
        self._kept: tuple[httpx.HTTPTransport, Line] | None = None
        self._only_http2: set[tuple[str, int]] = set()
        self._spread = False

    def reach(self, url: str) -> str:
        host, port = _place(url)
        if (host, port) not in self._addresses:
            self._addresses[host, port] = self._first_open(host, port)
        return self._addresses[host, port]

    def shake_hands(self, url: str) -> None:
        host, port = _place(url)
        address = self.reach(url), port
        with socket.create_connection(address, CONNECT_SECONDS) as raw, Deadline(CONNECT_SECONDS) as end:
            end.watch(raw)
            self.tls.wrap_socket(raw, server_hostname=host).close()

    def send(self, request: Request) -> Exchange:
        """Send one request. If the server has closed the kept connection, connect again once, as browsers do."""
        if self._spread or _place(request.url) in self._only_http2:
            return self._send_alone(request)
        if self._kept is None:
            self._kept = self._transport(keep=1), Line()
        done = self._exchange(*self._kept, request)
        if done.broken is Broken.CUT:
            self._forget()
            self._kept = self._transport(keep=1), Line()
            done = self._exchange(*self._kept, request)
        return self._over_http2(done)

    def send_together(self, requests: Sequence[Request]) -> list[Exchange]:
        self._forget()  # it would occupy a single-threaded server
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(self._send_alone, requests))

    def spread(self) -> None:
        """From now on, send each request over a separate connection.

        A kept connection would occupy a single-threaded server.
        """
        self._forget()
        self._spread = True

    def close(self) -> None:
        self._forget()

    def _send_alone(self, request: Request) -> Exchange:
        http2 = _place(request.url) in self._only_http2
        with closing(self._transport(keep=0, http2=http2)) as transport:
            done = self._exchange(transport, Line(), request)
        return replace(done, http2=True) if http2 else self._over_http2(done)

    def _over_http2(self, done: Exchange) -> Exchange:
        """If the server does not speak HTTP/1.1, repeat the call over HTTP/2. Keep to HTTP/2 if that works."""
        if done.broken is not Broken.FRAMES and done.status != VERSION_NOT_SUPPORTED:
            return done
        if find_spec("h2") is None:
            raise OptionError(f"{_place(done.request.url)[0]} speaks only HTTP/2: pip install 'chatkey[http2]'")
        with closing(self._transport(keep=0, http2=True)) as transport:
            again = self._exchange(transport, Line(), done.request)
        if again.response is None:
            return done if done.response else replace(done, broken=Broken.GARBLED)
        self._only_http2.add(_place(done.request.url))
        return replace(again, http2=True)

    @property
    def tls(self) -> ssl.SSLContext:
        """The TLS settings. They trust the system's authorities and the authority of `--ca`. Raises `OptionError`."""
        if self._tls is None:
            self._tls = _trusting(self._target)
        return self._tls

    def _forget(self) -> None:
        if self._kept is not None:
            self._kept[0].close()
            self._kept = None

    def _transport(self, *, keep: int, http2: bool = False) -> httpx.HTTPTransport:
        import httpx  # noqa: PLC0415 - `--help` need not wait for it

        limits = httpx.Limits(max_keepalive_connections=keep)
        trusted = self.tls if self._target.secure else False  # reading the system's authorities is slow
        return httpx.HTTPTransport(verify=trusted, trust_env=False, limits=limits, http1=not http2, http2=http2)

    def _exchange(self, transport: httpx.HTTPTransport, line: Line, request: Request) -> Exchange:
        sent_at, start = self._now(), self._monotonic()
        with Deadline(self._target.timeout) as deadline:
            outcome = self._answer(transport, line, deadline, request)
            if deadline.over:
                outcome = Broken.UNENDED if outcome in BEGUN or isinstance(outcome, Response) else Broken.TIMEOUT
        seconds = self._monotonic() - start
        if isinstance(outcome, Broken):
            return Exchange(request, None, outcome, sent_at, seconds)
        return Exchange(request, outcome, None, sent_at, seconds)

    def _answer(
        self, transport: httpx.HTTPTransport, line: Line, deadline: Deadline, request: Request
    ) -> Response | Broken:
        import httpx  # noqa: PLC0415

        try:
            asked = self._http_request(request)
            asked.extensions = {**asked.extensions, "trace": line.watched_by(deadline)}
            answer = transport.handle_request(asked)
            with closing(answer):
                line.answered_on(answer.extensions["network_stream"])
                body = unpacked(_body(answer), answer.headers.get("content-encoding", ""), LARGEST)
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError) as error:
            raise Unsendable(str(error)) from error
        except httpx.TimeoutException:
            return Broken.TIMEOUT
        except (httpx.NetworkError, Unreachable) as error:
            return Broken.FRAMES if "no application protocol" in str(error) else Broken.CUT
        except httpx.RemoteProtocolError as error:
            return _broken(str(error))
        except Undecodable:
            return Broken.UNPACKABLE
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers.raw)
        return Response(answer.status_code, headers, body)

    def _http_request(self, request: Request) -> httpx.Request:
        import httpx  # noqa: PLC0415

        host, port = _place(request.url)
        address = self.reach(request.url)
        parts = urlsplit(request.url)
        shown = f"[{address}]" if ":" in address else address
        limits = dict.fromkeys(("connect", "read", "write", "pool"), self._target.timeout)
        return httpx.Request(
            request.method,
            urlunsplit((parts.scheme, f"{shown}:{port}", parts.path or "/", parts.query, "")),
            headers=[
                (name.encode("latin-1"), value.encode()) for name, value in (("Host", parts.netloc), *request.headers)
            ],
            content=request.body or None,
            extensions={"timeout": limits, "sni_hostname": host},
        )

    def _first_open(self, host: str, port: int) -> str:
        tried: list[str] = []
        for address in self._candidates(host, port):
            try:
                socket.create_connection((address, port), CONNECT_SECONDS).close()
            except TimeoutError:
                tried.append(f"no connection to {address} within {CONNECT_SECONDS:g} s")
            except OSError as error:
                tried.append(f"{address}: {error.strerror or error}")
            else:
                return address
        raise Unreachable("; ".join(tried))

    def _candidates(self, host: str, port: int) -> Sequence[str]:
        given = self._target.connect_to.get(host)
        if given:
            return (given,)
        if is_loopback(host) and "localhost" in host:
            return LOOPBACK
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise Unreachable(f"{host} could not be resolved: {error.strerror or error}") from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _broken(said: str) -> Broken:
    """Return the reason that an error message of h11 or h2 describes."""
    if "complete message body" in said:
        return Broken.SHORT
    if HTTP2_FRAME in said:
        return Broken.FRAMES
    return Broken.CUT if "disconnected" in said or said.startswith(STREAM_ENDED) else Broken.GARBLED


def _body(answer: httpx.Response) -> bytes:
    """Return a body as it was sent, before decompression, cut to `LARGEST` bytes."""
    body = bytearray()
    for chunk in answer.iter_raw():
        body += chunk
        if len(body) > LARGEST:
            break
    return bytes(body[:LARGEST])


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or DEFAULT_PORTS[parts.scheme]


def _trusting(target: Target) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if target.ca:
        try:
            context.load_verify_locations(target.ca)
        except OSError as error:  # SSLError is an OSError
            raise OptionError(f"Cannot use --ca {target.ca}: {error.strerror or error}") from error
    if target.insecure_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
