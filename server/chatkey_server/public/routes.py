"""The router of the public endpoints, and the CORS preflight for the endpoints that any page may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import HttpMethod, Router, route
from litestar.types import ASGIApp, Scope

from chatkey_protocol.names import CONFIG_PATH, MEMBER_TOKEN_PATH, VISITOR_TOKEN_PATH
from chatkey_server.public import configuration, member_token, visitor_token
from chatkey_server.public.answers import PREFLIGHT
from chatkey_server.public.paths import route_path

if TYPE_CHECKING:
    from chatkey_server.services import Services


def router(services: Services) -> Router:
    """Mount configuration, visitor token and member token (contract 4.1 to 4.3)."""
    return Router(
        "/",
        route_handlers=[
            options,  # first, because Litestar adds its own OPTIONS handler to a path that has none
            configuration.handler(services),
            visitor_token.handler(services),
            member_token.handler(services),
        ],
        include_in_schema=True,
    )


@route(
    [route_path(path) for path in (CONFIG_PATH, VISITOR_TOKEN_PATH, MEMBER_TOKEN_PATH)],
    http_method=HttpMethod.OPTIONS,
    include_in_schema=False,
)
async def options(scope: Scope) -> ASGIApp:  # noqa: ARG001 - Litestar finds ASGI answers by this signature
    return PREFLIGHT
