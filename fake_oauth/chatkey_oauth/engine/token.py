"""The token endpoint (RFC 6749 4.1.3, 4.4, 6): exchanges codes, refresh tokens and client credentials for access
tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine import id_tokens
from chatkey_oauth.engine.credentials import authenticate
from chatkey_oauth.engine.grants import Code, Consent, Grant, Issued
from chatkey_oauth.engine.pkce import check_verifier
from chatkey_oauth.engine.reading import are_visible, split_scopes
from chatkey_oauth.engine.refusals import Reason, TokenRefused
from chatkey_oauth.engine.text import clean

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.engine.people import Person

CLIENT_CREDENTIALS: Final = "client_credentials"


def exchange(provider: Dialect, call: Call) -> Answer:
    """Authenticate the client of a token request, and then handle the grant type."""
    params = provider.token_params(call)
    client = client_of(provider, call, params)
    issued = granted(provider, client, params)
    provider.grants.issue(issued)
    id_token = id_tokens.sign(provider, call.hooks, issued) if provider.brings_id_token(issued) else None
    return provider.token_answer(call, call.hooks.token(provider.token_body(issued, id_token)))


def client_of(provider: Dialect, call: Call, params: Mapping[str, str]) -> Client:
    """Return the authenticated client of a back-channel request. Raises `TokenRefused`."""
    header = call.headers.get("authorization", "")
    return authenticate(provider, header, params)


def own_token(provider: Dialect, call: Call) -> Issued | None:
    """Return the stored token response that contains the token in the parameter `token`.

    Return None if the token is unknown or was issued to another client.
    """
    params = provider.token_params(call)
    client = client_of(provider, call, params)
    issued = provider.grants.find(required(params, "token"))
    return issued if issued is not None and issued.grant.client_id == client.client_id else None


def granted(provider: Dialect, client: Client, params: Mapping[str, str]) -> Issued:
    grant_type = params.get("grant_type")
    if grant_type is None and provider.grant_type_required:
        raise TokenRefused(Reason.PARAMETER_MISSING, "grant_type")
    if grant_type in {None, "authorization_code"}:
        return by_code(provider, client, params)
    if grant_type == "refresh_token" and provider.refreshes:
        return by_refresh_token(provider, client, params)
    if grant_type == CLIENT_CREDENTIALS and provider.knows_machines:
        return by_client(provider, client, params)
    return provider.other_grant(client, params)


def by_client(provider: Dialect, client: Client, params: Mapping[str, str]) -> Issued:
    """Issue a token for the application itself (RFC 6749 4.4), without a refresh token. Public clients are refused."""
    if client.is_public:
        raise TokenRefused(Reason.PUBLIC_CLIENT, "client_secret")
    asked = split_scopes(params.get("scope", ""))
    if not are_visible(asked):
        raise TokenRefused(Reason.SCOPE, clean(" ".join(asked)))
    scopes = provider.machine_scopes(asked)
    grant = Grant(
        consent=Consent(frozenset(scopes), frozenset()),
        client_id=client.client_id,
        person_id=provider.owner(),
        scopes=scopes,
        redirect_uri="",
        nonce=None,
        challenge=None,
        auth_time=provider.now,
        refreshable=False,
        first=False,
        for_itself=True,
    )
    return issue(provider, grant, None)


def by_code(provider: Dialect, client: Client, params: Mapping[str, str]) -> Issued:
    """Exchange a code for a token.

    A code can be used once, by the client to which it was issued, with the redirect URI and the verifier of that login.
    """
    code = find_code(provider, client, required(params, "code"))
    check_redirect_uri(provider, code.grant, params)
    check_verifier(code.grant.challenge, params.get("code_verifier"))
    code.used = True
    provider.before_issue(code.grant)
    return issue(provider, code.grant, provider.new_refresh_token() if code.grant.refreshable else None)


def find_code(provider: Dialect, client: Client, text: str) -> Code:
    """Return a code that can still be used.

    At some providers, a second use of a code revokes the tokens from the first use.
    """
    if not provider.code_shape.fullmatch(text):
        raise TokenRefused(Reason.CODE_MALFORMED, "code")
    code = provider.grants.codes.get(text)
    if code is None:
        raise TokenRefused(Reason.CODE_UNKNOWN, "code")
    if code.grant.client_id != client.client_id:
        raise TokenRefused(Reason.CODE_OF_OTHER_CLIENT, "code")
    if code.used:
        code.grant.revoked = code.grant.revoked or provider.takes_back()
        raise TokenRefused(Reason.CODE_USED, "code")
    if code.expires_at <= provider.world.clock():
        raise TokenRefused(Reason.CODE_EXPIRED, "code")
    return code


def check_redirect_uri(provider: Dialect, grant: Grant, params: Mapping[str, str]) -> None:
    """Require the redirect URI of the authorization request, byte for byte (RFC 6749 4.1.3)."""
    given = params.get("redirect_uri")
    if given is None and not provider.redirect_uri_required:
        return
    if given != grant.redirect_uri:
        raise TokenRefused(Reason.REDIRECT_URI, "redirect_uri")


def by_refresh_token(provider: Dialect, client: Client, params: Mapping[str, str]) -> Issued:
    """Exchange a refresh token. If the provider rotates refresh tokens, revoke the old tokens."""
    issued = provider.grants.refresh.get(required(params, "refresh_token"))
    if issued is None or issued.is_revoked or issued.grant.client_id != client.client_id:
        raise TokenRefused(Reason.REFRESH_TOKEN, "refresh_token")
    if (life := provider.lives().refresh) is not None and issued.issued_at + life <= provider.world.clock():
        raise TokenRefused(Reason.REFRESH_TOKEN, "refresh_token")
    grant = issued.grant.narrowed(provider.refreshed_scopes(issued.grant, split_scopes(params.get("scope", ""))))
    issued.revoked = provider.rotates
    brings_next = provider.rotates or provider.renews
    fresh = issue(provider, grant, provider.new_refresh_token() if brings_next else None)
    fresh.refreshed = True
    return fresh


def minted(
    provider: Dialect, client: Client, person: Person | None, scopes: tuple[str, ...], nonce: str | None
) -> Issued:
    """Issue tokens without a login. Without a person, they are for the application itself."""
    grant = Grant(
        consent=Consent(frozenset(scopes), frozenset()),
        client_id=client.client_id,
        person_id=person.id if person else provider.owner(),
        scopes=scopes,
        redirect_uri="",
        nonce=nonce,
        challenge=None,
        auth_time=provider.now,
        refreshable=person is not None and provider.refreshes,
        first=True,
        for_itself=person is None,
    )
    issued = issue(provider, grant, provider.new_refresh_token() if grant.refreshable else None)
    provider.grants.issue(issued)
    return issued


def issue(provider: Dialect, grant: Grant, refresh: str | None) -> Issued:
    now = provider.now
    life = provider.lives().access
    expires_at = None if life is None else now + life
    return Issued(grant, provider.access_token(grant, expires_at), refresh, now, expires_at)


def required(params: Mapping[str, str], name: str) -> str:
    """Return a parameter. Raises `TokenRefused` if the parameter is missing or empty."""
    if not params.get(name):
        raise TokenRefused(Reason.PARAMETER_MISSING, name)
    return params[name]
