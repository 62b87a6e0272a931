"""GET /v1/public/provider/{id}/oauth/{social}: redirects to the consent page (contract 4.4, D-03, D-07, D-08)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

import structlog
from litestar import Router, route
from litestar.datastructures import Headers
from litestar.types import ASGIApp, Scope

from chatkey_protocol.codes import Code
from chatkey_protocol.names import OAUTH_START_PATH
from chatkey_server import metrics
from chatkey_server.identity import oauth_state, origins
from chatkey_server.identity.errors import Refused
from chatkey_server.public import popup_page, popup_words
from chatkey_server.public.answers import NO_STORE, Answer
from chatkey_server.public.documentation import operation, pages
from chatkey_server.public.opener import Opener
from chatkey_server.public.parameters import BINDING, ID, NONCE, ORIGIN, PROMPT, SOCIAL, Query
from chatkey_server.public.paths import READ, provider_of, route_path
from chatkey_server.public.social_login import application_of, redirect_uri
from chatkey_server.social import consent, providers
from chatkey_server.storage import oauth_flows

if TYPE_CHECKING:
    from chatkey_server.services import Services
    from chatkey_server.storage.providers import ProviderView

QUERY: Final = Query(required=(ORIGIN,), optional=(BINDING, NONCE, PROMPT))
MAX_ORIGIN_CHARS: Final = 300
"""A host name has at most 253 characters. The rest is for scheme and port."""

log = structlog.stdlib.get_logger()


def router(services: Services) -> Router:
    """Mount the start endpoint of social logins."""

    @route(
        route_path(OAUTH_START_PATH),
        http_method=READ,
        status_code=302,
        operation_class=operation(ID, SOCIAL, query=QUERY),
        responses=pages(302, 400, 403, 404, 429, 503),
    )
    async def oauth_start(scope: Scope) -> ASGIApp:
        opener: Opener | None = None
        social: str = scope["path_params"]["social"]
        try:
            await services.rates.oauth.count(scope)
            query = QUERY.read(scope, most=services.settings.limits.query_bytes)
            origin = _given_origin(query)
            provider = await provider_of(services, scope)
            opener = Opener(_registered(origin, provider), provider.id, social, _well_formed_nonce(query))
            return await _redirect(services, provider, opener, query, remember=scope.get("method") != "HEAD")
        except Refused as refusal:
            metrics.refused(refusal.code)
            log.info("oauth.refused", at="start", social=social, code=refusal.code, member=refusal.member)
            words = popup_words.preferred(Headers.from_scope(scope).get("accept-language", ""))
            return popup_page.refused(refusal, opener, words)

    return Router("/", route_handlers=[oauth_start], include_in_schema=True)


def _given_origin(query: dict[str, str]) -> str:
    origin = query[ORIGIN.name].strip()
    if not origin:
        raise Refused(Code.PARAMETER_MISSING, "The parameter origin is empty.", member="origin")
    if len(origin) > MAX_ORIGIN_CHARS:
        raise Refused(
            Code.PARAMETER_INVALID,
            f"The parameter origin has {len(origin)} characters; the limit is {MAX_ORIGIN_CHARS}.",
            member="origin",
        )
    return query["origin"]


def _registered(origin: str, provider: ProviderView) -> str:
    """Return the registered origin that equals `origin` (D-08)."""
    literal = origins.match(origin, provider.origins)
    if literal is None:
        raise Refused(
            Code.ORIGIN_NOT_ALLOWED,
            (
                f"{origin!a} is not a registered domain of this chat. The chat's operator can register it in the "
                "admin panel."
            ),
            member="origin",
        )
    return literal


def _well_formed_nonce(query: dict[str, str]) -> str | None:
    nonce = query.get("nonce")
    return nonce if nonce is not None and NONCE.is_well_formed(nonce) else None


async def _redirect(
    services: Services, provider: ProviderView, opener: Opener, query: dict[str, str], *, remember: bool
) -> Answer:
    """Redirect to the consent page with a new state. A HEAD request, as sent by prefetchers, stores no record."""
    social = providers.find(opener.social, services.settings)
    application = application_of(provider, social)
    _check_binding(query)
    now = services.clock()
    flow_id, verifier, oidc_nonce = (secrets.token_urlsafe(size) for size in (24, 48, 24))
    state = oauth_state.State(
        id=flow_id,
        pid=provider.id,
        social=social.name,
        origin=opener.origin,
        iat=int(now),
        nonce=opener.nonce,
        jkt=query.get("jkt"),
    )
    if remember:
        await oauth_flows.start(
            id=flow_id, provider=provider.id, social=social.name, verifier=verifier, oidc_nonce=oidc_nonce, now=now
        )
    location = consent.url(
        social,
        client_id=application.client_id,
        redirect_uri=redirect_uri(services.settings, social),
        state=oauth_state.mint(services.vault.state_keys[0], state),
        verifier=verifier,
        oidc_nonce=oidc_nonce,
        choose_account=PROMPT.name in query,
    )
    log.info("oauth.start", provider=provider.id, social=social.name)
    headers = (NO_STORE, (b"referrer-policy", b"no-referrer"), (b"location", location.encode("ascii")))
    return Answer(b"", headers, 302)


def _check_binding(query: dict[str, str]) -> None:
    """Refuse a malformed `jkt`, `nonce` or `prompt` (D-07)."""
    for parameter in QUERY.optional:
        if parameter.name in query:
            parameter.check(query[parameter.name])
