"""GET /v1/public/provider/{id}/member/token: a socket token for a social member (contract 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import route
from litestar.types import ASGIApp, Scope

from chatkey_protocol.codes import Code
from chatkey_protocol.names import MEMBER_TOKEN_PATH
from chatkey_server.identity import rotation
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import IdentityToken, mint_member, read_identity_token
from chatkey_server.public.answers import TokenBody, token_answers
from chatkey_server.public.documentation import operation, responses
from chatkey_server.public.parameters import AUTH, ID, JKT, Query
from chatkey_server.public.paths import READ, provider_of, route_path

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_server.services import Services
    from chatkey_server.storage.providers import ProviderView

QUERY: Final = Query(required=(AUTH, JKT))


def handler(services: Services) -> HTTPRouteHandler:
    """Exchange the identity token of a social login for a socket token bound to `jkt`."""
    answer = token_answers(services.settings.socket_uri)
    limits = services.settings.limits

    @route(
        route_path(MEMBER_TOKEN_PATH),
        http_method=READ,
        operation_class=operation(ID, query=QUERY),
        responses=responses(TokenBody, 400, 401, 403, 404, 429, 503),
    )
    async def member_token(scope: Scope) -> ASGIApp:
        services.rates.tokens.check(scope)
        provider = await provider_of(services, scope)
        query = QUERY.read(scope, most=limits.query_bytes)
        auth, jkt = query[AUTH.name], query[JKT.name]
        JKT.check(jkt)
        now = services.clock()

        def exchanged(provider: ProviderView) -> str:
            identity = read_identity_token(auth, provider.secrets, pid=provider.id, now=now, most=limits.token_bytes)
            _check_standing(identity, provider, jkt)
            return mint_member(provider.secrets, identity=identity, jkt=jkt, now=now)

        return answer(await rotation.judged(provider, exchanged, services.providers.find))

    return member_token


def _check_standing(identity: IdentityToken, provider: ProviderView, jkt: str) -> None:
    social = identity.uid.social
    if social not in provider.socials:
        raise Refused(
            Code.TOKEN_REVOKED, f"Login with {social} was switched off after this token was made.", member="auth"
        )
    if identity.jkt not in {None, jkt}:
        raise Refused(
            Code.TOKEN_KEY_MISMATCH,
            "The identity token is bound to another connection key; log in again.",
            member="jkt",
        )
