"""GET /v1/public/provider/{id}/token: a socket token for a visitor (contract 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import route
from litestar.types import ASGIApp, Scope

from chatkey_protocol.names import VISITOR_TOKEN_PATH
from chatkey_server.identity.tokens import mint_visitor
from chatkey_server.public.answers import TokenBody, token_answers
from chatkey_server.public.documentation import operation, responses
from chatkey_server.public.parameters import ID, UID, Query
from chatkey_server.public.paths import READ, provider_of, route_path

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_server.services import Services

QUERY: Final = Query(required=(UID,))


def handler(services: Services) -> HTTPRouteHandler:
    """Return a visitor's socket token. No proof is required, because the socket later requires a proof of the key."""
    answer = token_answers(services.settings.socket_uri)
    limits = services.settings.limits

    @route(
        route_path(VISITOR_TOKEN_PATH),
        http_method=READ,
        operation_class=operation(ID, query=QUERY),
        responses=responses(TokenBody, 400, 403, 404, 429, 503),
    )
    async def visitor_token(scope: Scope) -> ASGIApp:
        services.rates.tokens.check(scope)
        provider = await provider_of(services, scope)
        uid = QUERY.read(scope, most=limits.query_bytes)[UID.name]
        UID.check(uid)
        return answer(mint_visitor(provider.secrets, pid=provider.id, uid=uid, now=services.clock()))

    return visitor_token
