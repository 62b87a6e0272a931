"""GET /v1/public/provider/{id}/member/token: a socket token for a social member (contract 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import route
from litestar.types import ASGIApp, Scope

from chatkey_protocol.codes import Code
from chatkey_protocol.names import MEMBER_TOKEN_PATH
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.keys import is_jkt
from chatkey_server.identity.tokens import IdentityToken, mint_member, read_identity_token
from chatkey_server.public.answers import TokenBody, token_answers
from chatkey_server.public.documentation import operation, responses
from chatkey_server.public.parameters import read_query, required
from chatkey_server.public.paths import READ, provider_of, route_path

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_server.services import Services
    from chatkey_server.storage.providers import ProviderView

AUTH = "the identity token of the social login"
JKT = "the thumbprint of the connection key: 43 characters of base64url"


def handler(services: Services) -> HTTPRouteHandler:
    """Exchange the identity token of a social login for a socket token bound to `jkt`."""
    answer = token_answers(services.settings.socket_uri)
    limits = services.settings.limits

    @route(
        route_path(MEMBER_TOKEN_PATH),
        http_method=READ,
        operation_class=operation(auth=AUTH, jkt=JKT),
        responses=responses(TokenBody, 400, 401, 403, 404, 429, 503),
    )
    async def member_token(scope: Scope) -> ASGIApp:
        services.rates.tokens.check(scope)
        provider = await provider_of(services, scope)
        query = read_query(scope, "auth", "jkt", most=limits.query_bytes)
        auth, jkt = required(query, "auth", AUTH), required(query, "jkt", JKT)
        if not is_jkt(jkt):
            raise Refused(Code.PARAMETER_INVALID, f"The parameter jkt is not well-formed; send {JKT}.", member="jkt")
        now = services.clock()
        identity = read_identity_token(auth, provider.secrets, pid=provider.id, now=now, most=limits.token_bytes)
        _check_standing(identity, provider, jkt)
        return answer(mint_member(provider.secrets, identity=identity, jkt=jkt, now=now))

    return member_token


def _check_standing(identity: IdentityToken, provider: ProviderView, jkt: str) -> None:
    social = identity.uid.social
    if social not in provider.socials:
        raise Refused(
            Code.TOKEN_REVOKED, f"Login with {social} has been switched off since this token was made.", member="auth"
        )
    if identity.jkt not in {None, jkt}:
        raise Refused(
            Code.TOKEN_KEY_MISMATCH,
            "The identity token is bound to another connection key; log in again.",
            member="jkt",
        )
