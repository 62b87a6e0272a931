"""Converts every failure of the app into one format: `{"data": null, "error": {"code", "message"}}` (D-02)."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import structlog
from litestar import Response, asgi
from litestar.exceptions import HTTPException

from chatkey_protocol.codes import Code
from chatkey_protocol.names import SOCKET_PATH
from chatkey_server import metrics
from chatkey_server.identity.errors import RateLimited, Refused
from chatkey_server.public.answers import JSON, NO_STORE, Answer, error_body

if TYPE_CHECKING:
    from litestar import Request
    from litestar.types import ExceptionHandlersMap, Receive, Scope, Send

    AnyRequest = Request[Any, Any, Any]

log = structlog.stdlib.get_logger()

CODES: Final = {
    HTTPStatus.NOT_FOUND: (Code.NOT_FOUND, "Nothing exists at this path."),
    HTTPStatus.METHOD_NOT_ALLOWED: (
        Code.METHOD_NOT_ALLOWED,
        "This path does not support the method; see the Allow header.",
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (Code.TOO_LARGE, "The request is too large."),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: (Code.MEDIA_TYPE_UNSUPPORTED, "This content type is not supported here."),
    HTTPStatus.TOO_MANY_REQUESTS: (Code.RATE_LIMITED, "Too many requests from this address; try again later."),
    HTTPStatus.SERVICE_UNAVAILABLE: (Code.UNAVAILABLE, "The server is temporarily unavailable; try again later."),
}
"""Codes and messages for the framework's own errors, by status. Its messages may quote the request, even tokens."""

_SOCKETS_ONLY: Final = "This is the address of a WebSocket; it accepts no other requests."
_UPGRADE: Final = (b"upgrade", b"websocket")

_CUT_OFF: Final = "client disconnected prematurely"
"""Litestar's message, with a 500, if a peer disconnects in the middle of a body."""


def on_refused(request: AnyRequest, refused: Refused) -> Response[bytes]:
    """Return the response for a refusal, with its status, code and message."""
    status = refused.meaning.status
    about = {"code": refused.code, "member": refused.member, "cause": refused.cause, "path": request.scope["path"]}
    if status == HTTPStatus.UNAUTHORIZED:
        log.info("token.refused", **about)
    else:
        log.debug("request.refused", **about)
    headers = {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(refused, RateLimited):
        headers["Retry-After"] = str(refused.retry_after)
        headers["Access-Control-Expose-Headers"] = "Retry-After"
    return _response(request, status, refused.code, refused.message, headers)


def on_http_exception(request: AnyRequest, failure: HTTPException) -> Response[bytes]:
    """Return the response for an error of the framework, such as an unknown path or method, or a malformed body."""
    status = failure.status_code
    if failure.detail == _CUT_OFF:
        return on_refused(request, Refused(Code.PARAMETER_INVALID, "The request's body is incomplete."))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in CODES:
        return on_exception(request, failure)
    headers = dict(failure.headers or {})
    if headers.get("allow") == "websocket":  # Litestar's way to say that a path takes no method at all
        status = HTTPStatus.UPGRADE_REQUIRED
        return _response(request, status, Code.METHOD_NOT_ALLOWED, _SOCKETS_ONLY, {"Upgrade": "websocket"})
    code, message = CODES.get(HTTPStatus(status), (Code.PARAMETER_INVALID, _at_fault(failure)))
    return _response(request, status, code, message, headers)


@asgi(SOCKET_PATH, copy_scope=False)
async def upgrade_required(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse an ordinary HTTP request to the address of the socket (426)."""
    body = error_body(Code.METHOD_NOT_ALLOWED, _SOCKETS_ONLY)
    await Answer(body, (JSON, NO_STORE, _UPGRADE), HTTPStatus.UPGRADE_REQUIRED)(scope, receive, send)


def on_exception(request: AnyRequest, failure: Exception) -> Response[bytes]:
    """Return the response for a failure of the server. The details are in the log only."""
    log.error("request.failed", path=request.scope["path"], exc_info=failure)
    return _response(request, 500, Code.INTERNAL, "The server failed; its log has the details.", {})


EXCEPTION_HANDLERS: Final[ExceptionHandlersMap] = {
    Refused: on_refused,
    HTTPException: on_http_exception,
    Exception: on_exception,
}


def _response(request: AnyRequest, status: int, code: str, message: str, headers: dict[str, str]) -> Response[bytes]:
    metrics.refused(code)
    headers["Cache-Control"] = "no-store"
    if request.scope["path"].startswith("/v1/public/"):
        headers["Access-Control-Allow-Origin"] = "*"
    body = error_body(code, message)
    headers["Content-Length"] = str(len(body))
    content = b"" if request.scope["method"] == "HEAD" else body
    return Response(content, status_code=status, media_type="application/json", headers=headers)


def _at_fault(failure: HTTPException) -> str:
    """Name the invalid members of a body. msgspec's messages contain types, never values."""
    members = [
        f"{part['key']}: {part['message']}"
        for part in (failure.extra if isinstance(failure.extra, list) else ())
        if isinstance(part, dict) and "key" in part and "message" in part
    ]
    return f"The request is malformed. {'; '.join(members)}".strip()
