"""GET /v1/public/provider/{id}/token: a socket token for a visitor (contract 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import route
from litestar.types import ASGIApp, Scope

from chatkey_protocol.codes import Code
from chatkey_protocol.names import VISITOR_TOKEN_PATH
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.keys import jkt_of_visitor
from chatkey_server.identity.tokens import mint_visitor
from chatkey_server.public.answers import TokenBody, token_answers
from chatkey_server.public.documentation import operation, responses
from chatkey_server.public.parameters import read_query, required
from chatkey_server.public.paths import READ, provider_of, route_path

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_server.services import Services

UID = "the visitor's uid: v_ and the thumbprint of the connection key"


def handler(services: Services) -> HTTPRouteHandler:
    """Answer with a visitor's socket token. Nothing needs proving here: the socket asks for the key."""
    answer = token_answers(services.settings.socket_uri)
    limits = services.settings.limits

    @route(
        route_path(VISITOR_TOKEN_PATH),
        http_method=READ,
        operation_class=operation(uid=UID),
        responses=responses(TokenBody, 400, 403, 404, 429, 503),
    )
    async def visitor_token(scope: Scope) -> ASGIApp:
        services.rates.tokens.check(scope)
        provider = await provider_of(services, scope)
        uid = required(read_query(scope, "uid", most=limits.query_bytes), "uid", UID)
        if jkt_of_visitor(uid) is None:
            raise Refused(Code.PARAMETER_INVALID, f"The parameter uid is not well-formed; send {UID}.", member="uid")
        return answer(mint_visitor(provider.secrets, pid=provider.id, uid=uid, now=services.clock()))

    return visitor_token
