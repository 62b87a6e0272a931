"""JSON responses in the envelope of D-02. For speed, they do not use the framework's response classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import getrandbits
from time import perf_counter
from typing import TYPE_CHECKING, Final

import msgspec
from litestar.enums import ScopeType

from chatkey_server import metrics
from chatkey_server.logs import REQUEST

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Scope, Send

Header = tuple[bytes, bytes]

JSON: Final[Header] = (b"content-type", b"application/json")
NO_STORE: Final[Header] = (b"cache-control", b"no-store")
ANY_ORIGIN: Final[Header] = (b"access-control-allow-origin", b"*")
REQUEST_ID: Final = b"x-request-id"
DEFAULTS: Final[tuple[Header, ...]] = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))


class Answer:
    """A complete response, as an ASGI application. HEAD gets the headers of GET and no body (RFC 9110 9.3.2)."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, body: bytes, headers: Sequence[Header], status: int = 200) -> None:
        self.body = body
        self.headers = headers
        self.status = status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        headers = [*self.headers]
        if self.status not in {204, 304}:
            headers.append((b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        body = b"" if scope.get("method") == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body, "more_body": False})


ALLOWED: Final = b"GET, HEAD, OPTIONS"

PREFLIGHT: Final = Answer(
    b"",
    (
        (b"allow", ALLOWED),
        ANY_ORIGIN,
        (b"access-control-allow-methods", ALLOWED),
        (b"access-control-allow-headers", b"*"),
        (b"access-control-max-age", b"86400"),
    ),
    204,
)
"""The response to a CORS preflight for what any page may read: any origin, without credentials (Fetch standard)."""


class DefaultHeaders:
    """An ASGI application that adds the headers that every HTTP response should have, and measures the latency.

    Each request and each socket gets an id. The log lines of a request contain the id, and an HTTP response has the id
    in a header.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with an id and the headers. A socket only gets an id."""
        request = f"{getrandbits(64):016x}"  # not secret, and `secrets` would cost a system call
        REQUEST.set(request)
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        named = (REQUEST_ID, request.encode())
        began = perf_counter()

        async def send_with_defaults(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = scope.get("path_template", metrics.UNROUTED) or _mount_of(scope)
                metrics.http(route, message["status"]).observe(perf_counter() - began)
                present = dict(message["headers"])
                missing = [header for header in DEFAULTS if header[0] not in present]
                message["headers"] = [*message["headers"], *missing, named]
            await send(message)

        await self._app(scope, receive, send_with_defaults)


def _mount_of(scope: Scope) -> str:
    """Return the path of a mounted application. Litestar leaves the route template of such an application empty."""
    return min(scope["route_handler"].paths)


class SocketToken(msgspec.Struct, frozen=True):
    """The result of the token endpoints (contract 2.6)."""

    socket_uri: str
    auth_token: str


class TokenBody(msgspec.Struct, frozen=True):
    """The body of both token endpoints."""

    data: SocketToken


class Fault(msgspec.Struct, frozen=True):
    """Why a request was refused: a stable code, and a message for people."""

    code: str
    message: str


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every error (D-02)."""

    data: None
    error: Fault


def error_body(code: str, message: str) -> bytes:
    """Encode the error envelope."""
    return msgspec.json.encode(ErrorBody(None, Fault(code, message)))


def token_answers(socket_uri: str) -> Callable[[str], Answer]:
    """Return a function that makes a token endpoint's response from a token. The address is encoded only once."""
    before = b'{"data":{"socket_uri":' + msgspec.json.encode(socket_uri) + b',"auth_token":"'
    headers = (JSON, NO_STORE, ANY_ORIGIN)

    def answer(auth_token: str) -> Answer:
        return Answer(before + auth_token.encode() + b'"}}', headers)

    return answer
