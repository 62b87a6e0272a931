"""Protects the admin panel: checks origin and size of requests, and adds headers and cookie attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from http import HTTPStatus
from json import JSONDecodeError
from typing import TYPE_CHECKING, Final

import msgspec
import structlog
from litestar.enums import ScopeType

from chatkey_protocol.codes import Code
from chatkey_server import metrics
from chatkey_server.identity.errors import RateLimited, Refused
from chatkey_server.panel.admin.bodies import with_checked_body
from chatkey_server.panel.admin.sign_ins import count_sign_in
from chatkey_server.public.answers import JSON, NO_STORE, Answer, Header, error_body
from chatkey_server.storage.availability import available

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

    from chatkey_server.services import Services

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
REDIRECT_HERE: Final[Header] = (b"location", b"/admin/")

FAILED: Final = Refused(Code.INTERNAL, "The server had an internal error; its log has the details.")
BODILESS: Final = Refused(Code.PARAMETER_INVALID, "The request has no body; send a JSON object.", member="body")
UNANSWERABLE: Final = Refused(
    Code.PARAMETER_INVALID,
    "This table query is not allowed. Possible causes: all its columns are hidden, it sorts by a name that is not a "
    "column, a parameter is repeated, a number is out of range, or a character is invalid.",
)

PLAIN: Final = re.compile("(?:(?![0-9]{10})[A-Za-z0-9_-]{1,64}/?)*")
"""Matches the rest of an ordinary path after `TABLES`: a table, then a word or the id of a row."""
TABLES: Final = "/admin/api/tables/"

BREAK: Final = re.compile(rb"[\0\r\n]")
"""Matches characters that a header value must not contain (RFC 9110 5.5)."""

PICCOLO_COOKIE: Final = b"id="
"""The name of Piccolo's session cookie, which Piccolo does not let us configure."""

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final[tuple[Header, ...]] = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)

log = structlog.get_logger("chatkey.admin")


class Guard:
    """An ASGI application that admits only requests of the panel's own pages, and protects the panel's cookies."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._origin = services.settings.base_url.encode()
        self._is_secure = self._origin.startswith(b"https://")
        self._cookie = b"__Host-chatkey_admin=" if self._is_secure else b"chatkey_admin="
        self._sign_ins = services.rates.admin_sign_ins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await receive()
            await send({"type": "websocket.close", "code": 1000, "reason": None})
            return
        if scope["path"] == "/admin":
            await Answer(b"", (REDIRECT_HERE,), HTTPStatus.PERMANENT_REDIRECT)(scope, receive, send)
            return
        try:
            self._check(scope)
            receive = await with_checked_body(scope, receive)
        except Refused as refused:
            await _refuse(refused, scope, receive, send)
            return
        scope["headers"] = [self._incoming(name, value) for name, value in scope["headers"]]
        await self._serve(scope, receive, send)

    async def _serve(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """Pass the panel's response on. If the panel fails, send an error (D-02), with 503 in a database outage."""
        status = 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                _check_headers(message["headers"])
                status = message["status"]
                message["headers"] = [*map(self._outgoing, message["headers"]), *HEADERS, *_caching(scope)]
            if status != HTTPStatus.INTERNAL_SERVER_ERROR:
                await send(message)

        counting = count_sign_in.set(partial(self._sign_ins.count, scope))
        try:
            with available():
                await self._app(scope, receive, send_guarded)
        except Refused as refused:
            failure = refused
        except Exception as error:  # noqa: BLE001 - it is logged, and answered
            failure = _at_fault(scope, error)
        else:
            failure = FAILED
        finally:
            count_sign_in.reset(counting)
        if status in {0, HTTPStatus.INTERNAL_SERVER_ERROR}:
            await _refuse(failure, scope, receive, send)

    def _check(self, scope: HTTPScope) -> None:
        if scope["method"] in SAFE:
            return
        if [value for name, value in scope["headers"] if name == b"origin"] != [self._origin]:
            raise Refused(
                Code.ORIGIN_NOT_ALLOWED,
                f"This request did not come from the admin panel. Open the panel at {self._origin.decode()}/admin/.",
                member="Origin",
            )

    def _incoming(self, name: bytes, value: bytes) -> Header:
        """Rename the session cookie to Piccolo's name. Drop any other cookie that already has Piccolo's name."""
        if name != b"cookie":
            return name, value
        cookies = [cookie.strip() for cookie in value.split(b";")]
        kept = [cookie for cookie in cookies if not cookie.startswith(PICCOLO_COOKIE)]
        renamed = [
            PICCOLO_COOKIE + cookie.removeprefix(self._cookie) if cookie.startswith(self._cookie) else cookie
            for cookie in kept
        ]
        return name, b"; ".join(renamed)

    def _outgoing(self, header: Header) -> Header:
        """Rename Piccolo's session cookie to ours. Mark all cookies SameSite=Strict and, under https, Secure."""
        name, value = header
        if name != b"set-cookie":
            return header
        if value.startswith(PICCOLO_COOKIE):
            value = self._cookie + value.removeprefix(PICCOLO_COOKIE)
        attributes = [part.strip() for part in value.split(b";")]
        kept = [part for part in attributes if not part.lower().startswith((b"samesite", b"secure"))]
        return name, b"; ".join([*kept, b"SameSite=Strict", *([b"Secure"] if self._is_secure else [])])


def _at_fault(scope: HTTPScope, error: Exception) -> Refused:
    """Return the refusal for an exception of Piccolo. Piccolo does not check most queries to the panel's tables."""
    if isinstance(error, JSONDecodeError | msgspec.DecodeError):
        return BODILESS  # every body that is not empty has been checked already
    is_question = scope["method"] in SAFE and scope["path"].startswith(TABLES)
    if is_question and (scope["query_string"] or not PLAIN.fullmatch(scope["path"].removeprefix(TABLES))):
        log.info("admin.unanswerable", path=scope["path"], error=type(error).__name__)
        return UNANSWERABLE
    log.error("admin.failed", path=scope["path"], exc_info=error)
    return FAILED


def _check_headers(headers: Iterable[Header]) -> None:
    """Refuse to send invalid headers, because Piccolo copies parts of the request into the headers of a response."""
    if any(BREAK.search(value) for _, value in headers):
        raise UNANSWERABLE


def _caching(scope: HTTPScope) -> tuple[Header, ...]:
    return () if scope["path"].startswith("/admin/assets/") else (NO_STORE,)


async def _refuse(refused: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a refusal in the common error envelope (D-02)."""
    metrics.refused(refused.code)
    headers = [JSON, NO_STORE]
    if isinstance(refused, RateLimited):
        headers.append((b"retry-after", b"%d" % refused.retry_after))
    await Answer(error_body(refused.code, refused.message), headers, refused.meaning.status)(scope, receive, send)
