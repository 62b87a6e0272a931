"""GET /v1/public/provider/{id}: the texts and options of the widget, and the address of its socket (contract 4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import route
from litestar.types import ASGIApp, Scope

from chatkey_protocol.names import CONFIG_PATH
from chatkey_server.public.answers import ANY_ORIGIN, JSON, Answer
from chatkey_server.public.documentation import ConfigurationBody, operation, responses
from chatkey_server.public.parameters import ID
from chatkey_server.public.paths import READ, provider_of, route_path

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_server.services import Services

EDGE_CACHE: Final = (b"cache-control", b"public, max-age=0, s-maxage=60")


def handler(services: Services) -> HTTPRouteHandler:
    """Return the provider's configuration. Edge caches keep it for 60 s, and browsers revalidate it (D-02)."""

    @route(
        route_path(CONFIG_PATH),
        http_method=READ,
        operation_class=operation(ID),
        responses=responses(ConfigurationBody, 304, 400, 403, 404, 503),
    )
    async def configuration(scope: Scope) -> ASGIApp:
        provider = await provider_of(services, scope)
        headers = (EDGE_CACHE, (b"etag", provider.etag.encode()), ANY_ORIGIN)
        if _is_known(scope, provider.etag):
            return Answer(b"", headers, 304)
        return Answer(provider.configuration, (JSON, *headers))

    return configuration


def _is_known(scope: Scope, etag: str) -> bool:
    """Return whether the browser already has this version (weak comparison, RFC 9110 13.1.2)."""
    sent = b",".join(value for name, value in scope["headers"] if name == b"if-none-match").decode("latin-1")
    return any(tag.strip().removeprefix("W/") in {etag, "*"} for tag in sent.split(","))
