"""The routes `/health/live`, `/health/ready` and `/metrics`."""

from __future__ import annotations

import hmac
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import Request, Response, Router, route

from chatkey_protocol.codes import Code
from chatkey_server import metrics
from chatkey_server.health.readiness import NAMES, Readiness
from chatkey_server.identity.errors import Refused
from chatkey_server.public.answers import JSON, NO_STORE, Answer, error_body
from chatkey_server.public.paths import READ

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler
    from litestar.types import ASGIApp, Scope

    from chatkey_server.services import Services

AnyRequest = Request[Any, Any, Any]

LIVE: Final = Answer(b'{"data":{"process":"ok"}}', (JSON, NO_STORE))
METRICS_VARIABLE: Final = "CHATKEY_METRICS_TOKEN"


def router(services: Services) -> Router:
    """Return the routes. `/metrics` exists only if its token is set."""
    readiness = Readiness(services)
    handlers = [_live(), _ready(readiness)]
    if services.settings.metrics_token:
        handlers.append(_metrics(services.settings.metrics_token.encode(), readiness))
    return Router("/", route_handlers=handlers)


def _live() -> HTTPRouteHandler:
    @route("/health/live", http_method=READ)
    async def live(scope: Scope) -> ASGIApp:  # noqa: ARG001 - Litestar finds ASGI answers by this signature
        return LIVE

    return live


def _ready(readiness: Readiness) -> HTTPRouteHandler:
    @route("/health/ready", http_method=READ)
    async def ready(request: AnyRequest) -> ASGIApp:
        passed_over = request.query_params.getall("exclude", [])
        for name in passed_over:
            if name not in NAMES:
                raise Refused(Code.PARAMETER_INVALID, f"exclude must be one of {', '.join(NAMES)}.", member="exclude")
        states = await readiness.states()
        wrong = [f"{name} {state}" for name, state in states.items() if state != "ok" and name not in passed_over]
        if wrong:
            body = error_body(Code.UNAVAILABLE, f"Not ready: {', '.join(wrong)}.")
            return Answer(body, (JSON, NO_STORE), HTTPStatus.SERVICE_UNAVAILABLE)
        return Answer(msgspec.json.encode({"data": states}), (JSON, NO_STORE))

    return ready


def _metrics(token: bytes, readiness: Readiness) -> HTTPRouteHandler:
    @route("/metrics", http_method=READ)
    async def show_metrics(request: AnyRequest) -> Response[bytes]:
        given = request.headers.getall("authorization", [])
        scheme, _, shown = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), token):
            message = f"The metrics require the value of {METRICS_VARIABLE}; send it as a bearer token."
            raise Refused(Code.SIGN_IN_REQUIRED, message, member="Authorization")
        metrics.note_ready({part: state == "ok" for part, state in (await readiness.states()).items()})
        headers = {"Cache-Control": "no-store"}
        return Response(metrics.exposition(), media_type=metrics.CONTENT_TYPE, headers=headers)

    return show_metrics
