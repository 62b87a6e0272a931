"""GET and POST /v1/public/oauth/{social}/callback: reports a login's result to the opener (contract 4.5, D-09)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import structlog
from litestar import HttpMethod, Request, Router, route
from litestar.types import ASGIApp

from chatkey_protocol.codes import Code
from chatkey_protocol.names import OAUTH_CALLBACK_PATH
from chatkey_server import metrics
from chatkey_server.identity import oauth_state, origins, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.social_uid import SocialUid
from chatkey_server.public import popup_page, popup_words
from chatkey_server.public.answers import Answer
from chatkey_server.public.documentation import operation, pages
from chatkey_server.public.opener import Opener
from chatkey_server.public.parameters import CODE, ERROR, ISS, SOCIAL, STATE, Query, form_body, read_pairs
from chatkey_server.public.paths import READ, route_path
from chatkey_server.public.social_login import application_of, redirect_uri
from chatkey_server.social import providers
from chatkey_server.social.grant import Grant
from chatkey_server.social.on_demand import OnDemand
from chatkey_server.social.provider import SocialProvider, error_code
from chatkey_server.storage import members, oauth_flows

if TYPE_CHECKING:
    from chatkey_server.identity.oauth_state import State
    from chatkey_server.services import Services
    from chatkey_server.social.person import Person
    from chatkey_server.storage.providers import ProviderView
    from chatkey_server.storage.tables import ChatCustomer

QUERY: Final = Query(optional=(STATE, CODE, ISS, ERROR))
ERRORS: Final = frozenset({ERROR.name, "error_code", "error_reason"})
"""The parameters that report an error instead of a code. All but the first are Facebook's own."""
CANCEL_WORDS: Final = frozenset({"access_denied", "user_denied", "user_cancelled_authorize", "denied"})
MAX_CODE_CHARS: Final = 2048

log = structlog.stdlib.get_logger()


def router(services: Services) -> Router:
    """Mount the callback of every social provider."""
    back_channel = OnDemand(services.settings, services.clock)

    @route(
        route_path(OAUTH_CALLBACK_PATH),
        http_method=(*READ, HttpMethod.POST),
        status_code=200,
        operation_class=operation(SOCIAL, query=QUERY, form=True),
        responses=pages(200, 400, 403, 404, 413, 415, 429, 502, 503),
    )
    async def oauth_callback(request: Request[Any, Any, Any]) -> ASGIApp:
        opener: Opener | None = None
        name: str = request.path_params["social"]
        words = popup_words.preferred(request.headers.get("accept-language", ""))
        try:
            await services.rates.oauth.count(request.scope)
            social = providers.find(name, services.settings)
            given = await _parameters(request, social, services.settings.limits.query_bytes)
            text = _brought_back(given, "state", social)
            state = oauth_state.read(text, services.vault.state_keys, social=social.name)
            provider = await services.providers.get(state.pid)
            opener = _opener(state, provider)
            oauth_state.check_age(state, services.clock())
            if request.method == "HEAD":
                return Answer(b"", popup_page.HEADERS)  # a HEAD must not use the state up
            grant = await _grant(services, social, state, given)
            application = application_of(provider, social)
            person = await (await back_channel.get()).person(social, application, grant)
            uid = SocialUid(social.name, person.sub)
            member = await _admit(services, provider, uid, person)
        except Refused as refusal:
            metrics.refused(refusal.code)
            log.info("oauth.refused", at="callback", social=name, code=refusal.code, cause=refusal.cause)
            return popup_page.refused(refusal, opener, words)
        log.info("oauth.callback", provider=provider.id, social=social.name)
        token = _identity_token(services, provider, state, uid, member)
        return popup_page.signed_in(opener, token, member.name, words)

    return Router("/", route_handlers=[oauth_callback], include_in_schema=True)


async def _parameters(request: Request[Any, Any, Any], social: SocialProvider, most: int) -> dict[str, str]:
    """Read the query and, for a POST, the form. A parameter that occurs in both counts as repeated."""
    form = await form_body(request) if request.method == "POST" else b""
    names = {*(parameter.name for parameter in QUERY.optional), *ERRORS, *social.callback_extras}
    return read_pairs(request.scope["query_string"], *names, most=most, form=form)


def _brought_back(given: dict[str, str], name: str, social: SocialProvider) -> str:
    if value := given.get(name):
        return value
    raise Refused(
        Code.PARAMETER_MISSING,
        f"{social.title} sent you back without the {name} of this sign-in. Start again from the chat.",
        member=name,
    )


def _opener(state: State, provider: ProviderView) -> Opener:
    """Return the page that started the login, if its origin is still registered (contract 5.7)."""
    origin = origins.match(state.origin, provider.origins)
    if origin is None:
        raise Refused(
            Code.STATE_INVALID, "The page that started this sign-in is no longer registered.", member="origin"
        )
    return Opener(origin, provider.id, state.social, state.nonce)


async def _grant(services: Services, social: SocialProvider, state: State, given: dict[str, str]) -> Grant:
    """Delete the state's record, so that the state cannot be used again, and return the grant."""
    flow = await oauth_flows.take(state.id, given.get(CODE.name), now=services.clock())
    return Grant(
        redirect_uri=redirect_uri(services.settings, social),
        code=_code(social, given),
        verifier=flow.verifier,
        oidc_nonce=flow.oidc_nonce,
        extras={name: given[name] for name in social.callback_extras if name in given},
    )


def _code(social: SocialProvider, given: dict[str, str]) -> str:
    """Return the authorization code. An error or a wrong `iss` in the callback is refused (RFC 6749 4.1.2.1)."""
    if not ERRORS.isdisjoint(given):
        raise _not_granted(social, given)
    issuers = social.accepted_issuers
    if issuers and given.get("iss", issuers[0]) not in issuers:
        raise Refused(Code.PARAMETER_INVALID, f"This response does not come from {social.title}.", member="iss")
    code = _brought_back(given, "code", social)
    if len(code) > MAX_CODE_CHARS or not (code.isascii() and code.isprintable()):
        raise Refused(
            Code.PARAMETER_INVALID, f"The code does not have the form that {social.title} uses.", member="code"
        )
    return code


def _not_granted(social: SocialProvider, given: dict[str, str]) -> Refused:
    if CANCEL_WORDS & {given.get("error"), given.get("error_reason")}:
        return Refused(Code.OAUTH_DENIED, f"The sign-in with {social.title} was cancelled.", cause="consent: denied")
    word = error_code(given.get("error") or given.get("error_code"))
    return Refused(
        Code.OAUTH_FAILED, f"{social.title} did not sign you in ({word}). Please try again.", cause=f"consent: {word}"
    )


async def _admit(services: Services, provider: ProviderView, uid: SocialUid, person: Person) -> ChatCustomer:
    """Update and return the member's record. Data that this login lacks stays unchanged (contract 2.7, D-11)."""
    return await members.upsert(
        provider=provider.id,
        login="social",
        uid=str(uid),
        auth_provider=uid.social,
        name=person.name,
        email=person.email,
        avatar=person.avatar,
        now=services.clock(),
    )


def _identity_token(
    services: Services, provider: ProviderView, state: State, uid: SocialUid, member: ChatCustomer
) -> str:
    """Return the identity token for the member (contract 2.5)."""
    return tokens.mint_identity(
        provider.secrets,
        pid=provider.id,
        uid=uid,
        profile=tokens.Profile(member.name, member.email, member.avatar, uid.social),
        jkt=state.jkt,
        now=services.clock(),
    )
