"""Judges the protections of a login at each step: PKCE, state, nonce, client authentication, redirect URI."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.flows import Leg, Verdict
from chatkey_oauth.engine.pkce import check_verifier
from chatkey_oauth.engine.reading import split_scopes
from chatkey_oauth.engine.refusals import Reason, TokenRefused
from chatkey_oauth.engine.token import client_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.flows import Flow
    from chatkey_oauth.engine.grants import Challenge, Grant
    from chatkey_oauth.engine.requests import Callback

    Verdicts = dict[str, Verdict]

GUESSABLE: Final = 16
"""The number of characters below which a value can be guessed, because it has less than 96 bits."""


def good(words: str) -> Verdict:
    """Return a verdict on a protection that is present and correct."""
    return Verdict("good", words)


def absent(words: str) -> Verdict:
    """Return a verdict on a missing protection. The verdict says which attack is now possible."""
    return Verdict("absent", words)


def wrong(words: str) -> Verdict:
    """Return a verdict on a protection that is present but wrong."""
    return Verdict("wrong", words)


def odd(words: str) -> Verdict:
    """Return a verdict on a protection that works but is weak, or that protects nothing."""
    return Verdict("odd", words)


# Authorization request


def of_request(provider: Dialect, call: Call) -> Verdicts:
    query = call.query
    verdicts = {"pkce": of_challenge(query), "state": of_state(query.get("state"))}
    if nonce := of_nonce(provider, query):
        verdicts["nonce"] = nonce
    client = provider.world.clients.get(provider.name, query.get(provider.client_parameter, ""))
    if client is not None:
        verdicts["redirect_uri"] = of_redirect_uri(provider, client, query.get("redirect_uri"))
    return verdicts


def of_challenge(query: Mapping[str, str]) -> Verdict:
    """Judge the PKCE challenge (RFC 7636 4.3)."""
    if not query.get("code_challenge"):
        return absent("no code_challenge: anyone who obtains the code can redeem it")
    method = query.get("code_challenge_method", "plain")
    if method.lower() == "plain":
        return odd("challenge with the method plain: anyone who sees this request knows the verifier")
    return good(f"challenge with the method {method[:20]!r}")


def of_state(state: str | None) -> Verdict:
    """Judge `state`, the protection against login CSRF (RFC 6749 10.12)."""
    if not state:
        return absent("no state: login CSRF is possible, unless PKCE or a nonce is tied to this browser")
    return of_chance("state", len(state))


@lru_cache(maxsize=64)
def of_chance(name: str, length: int) -> Verdict:
    """Judge whether a value is too long to be guessed. The verdict does not consider whether the value is random."""
    words = f"{name} of {length} character{'s' * (length != 1)}"
    return good(words) if length >= GUESSABLE else odd(f"{words}: short enough to be guessed")


def of_nonce(provider: Dialect, query: Mapping[str, str]) -> Verdict | None:
    """Judge the nonce (OpenID Connect Core 3.1.2.1). Return None if there is no nonce and none is needed."""
    if nonce := query.get("nonce"):
        return of_chance("nonce", len(nonce))
    if not provider.signs(split_scopes(query.get("scope", ""))):
        return None
    return absent("no nonce: the id_token of another login could be injected")


def of_redirect_uri(provider: Dialect, client: Client, uri: str | None) -> Verdict:
    if uri is None:
        return absent("no redirect_uri: the registered one is used")
    if client.leads_home(uri) or provider.redirect_allowed(client, uri):
        return good("registered")
    return wrong("not registered for this client")


# Callback


def of_callback(flow: Flow, asked: Callback, sent: Callback) -> Verdicts:
    """Compare the callback that is sent with the intended callback. Return nothing if a page replaces the callback."""
    if sent.page is not None:
        return {}
    verdicts = {"state": of_echo(flow.state, sent.params.get("state"))}
    if sent.redirect_uri != asked.redirect_uri:
        verdicts["redirect_uri"] = wrong("sent to another registered redirect URI")
    return verdicts


def of_echo(asked: str | None, sent: str | None) -> Verdict:
    """Judge whether the callback has the `state` of the request."""
    if sent == asked:
        return of_state(asked) if not asked else good("returned unchanged")
    return wrong("missing in the callback" if sent is None else "altered in the callback")


# Token request


def of_exchange(provider: Dialect, call: Call, grant: Grant, flow: Flow | None) -> Verdicts:
    try:
        params = provider.token_params(call)
    except TokenRefused as refusal:
        return {"client": wrong(f"unreadable: {refusal.member}")}
    verdicts = {"client": of_client(provider, call, params)}
    if params.get("code"):
        verdicts["pkce"] = of_verifier(grant.challenge, params.get("code_verifier"))
        verdicts["redirect_uri"] = of_same_uri(grant.redirect_uri, params.get("redirect_uri"))
        if flow is not None and (state := of_trust(flow)):
            verdicts["state"] = state
    return verdicts


def of_verifier(challenge: Challenge | None, verifier: str | None) -> Verdict:
    """Judge the verifier against the challenge (RFC 7636 4.6)."""
    if challenge is None and verifier:
        return odd("code_verifier without a challenge: it protects nothing")
    if challenge is None:
        return absent("neither challenge nor verifier")
    try:
        check_verifier(challenge, verifier)
    except TokenRefused as refusal:
        missing = refusal.reason is Reason.VERIFIER_MISSING
        return wrong("code_verifier missing" if missing else "code_verifier does not match the challenge")
    return good("code_verifier matches the challenge")


def of_same_uri(asked: str, given: str | None) -> Verdict:
    """Compare the redirect URI of the token request with that of the authorization request (RFC 6749 4.1.3)."""
    if given is None:
        return absent("no redirect_uri")
    return (
        good("same as in the authorization request")
        if given == asked
        else wrong("differs from the authorization request")
    )


def of_client(provider: Dialect, call: Call, params: Mapping[str, str]) -> Verdict:
    """Judge how the client authenticates, and whether the authentication succeeds."""
    style = client_style(call)
    try:
        client = client_of(provider, call, params)
    except TokenRefused as refusal:
        unknown = refusal.reason in {Reason.CLIENT_UNKNOWN, Reason.CLIENT_MISSING}
        why = f", {refusal.detail}" if refusal.detail else ""
        return wrong(f"{style}: {'no such client' if unknown else 'wrong secret'}{why}")
    if client.is_public:
        return odd("public client, which has no credentials")
    return odd(f"{style}: secrets in addresses end up in logs") if style == "in the address" else good(style)


def client_style(call: Call) -> str:
    """Return the client's authentication method by its name in OpenID Connect Core 9."""
    if call.headers.get("authorization", "")[:6].lower() == "basic ":
        return "client_secret_basic"
    if "client_secret" in call.query:
        return "in the address"
    return "client_secret_post" if "client_secret" in call.form else "no secret"


def of_trust(flow: Flow) -> Verdict | None:
    """Return a verdict if the client redeems the code of a callback that the client should have rejected.

    Otherwise return None.
    """
    returned = next((step for step in reversed(flow.steps) if step.leg is Leg.CODE), None)
    state = returned.verdicts.get("state") if returned else None
    if state is None or state.mark != "wrong":
        return None
    return wrong(f"the client redeems the code although its state was {state.words}")
