"""RP-initiated logout and back-channel logout (OpenID Connect RP-Initiated Logout 1.0, Back-Channel Logout 1.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from chatkey_oauth.engine import authorize, pages
from chatkey_oauth.engine.http import Answer, encode, redirect
from chatkey_oauth.engine.refusals import ShownToPerson
from chatkey_oauth.engine.text import from_base64url
from chatkey_oauth.engine.world import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.sessions import Session

EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT_LIFE: Final = 120
"""The lifetime of a logout token in seconds."""


class Asked(NamedTuple):
    """A valid logout request. `is_sure` is false if the person must confirm the logout."""

    client: Client | None
    session: Session | None
    uri: str | None
    state: str | None
    is_sure: bool


def end_session(provider: Dialect, call: Call) -> Answer:
    """Sign a person out, and redirect the browser to the application. Without an id_token, ask the person first."""
    params = call.query | call.form
    asked = read(provider, call, params)
    if asked.session is not None and not asked.is_sure and call.form.get("decision") != "sign-out":
        hidden = {name: value for name, value in params.items() if name != "decision"}
        return pages.sign_out_page(
            provider, action=provider.browser_path + provider.canonical(call.path), params=hidden
        )
    if asked.session is not None:
        end(provider, asked.session)
    return signed_out(provider, asked.uri, asked.state)


def signed_out(provider: Dialect, uri: str | None, state: str | None) -> Answer:
    """Return the redirect to the application, or a page. Both delete the cookie of the session."""
    forget = (("set-cookie", authorize.no_cookie(provider)),)
    if uri is None:
        page = pages.signed_out_page(provider)
        return Answer(page.status, page.body, (*page.headers, *forget))
    query = "" if state is None else ("&" if "?" in uri else "?") + encode({"state": state})
    sent = redirect(uri + query)
    return Answer(sent.status, sent.body, (*sent.headers, *forget))


def read(provider: Dialect, call: Call, params: Mapping[str, str]) -> Asked:
    """Check a logout request. Raises `ShownToPerson` (RP-Initiated Logout 2, 4)."""
    session = provider.session(call)
    claims = hint(provider, params.get("id_token_hint"))
    client_id = params.get("client_id") or (claims or {}).get("aud")
    if claims is not None and claims["aud"] != client_id:
        raise ShownToPerson(400, "invalid_request", "The id_token_hint was issued to another application.")
    client = provider.world.clients.get(provider.name, client_id) if client_id else None
    if client_id and client is None:
        raise ShownToPerson(400, "invalid_request", "The client_id is unknown.")
    uri = params.get("post_logout_redirect_uri")
    if uri is not None and not (client and provider.logout_allowed(client, uri)):
        message = "The post_logout_redirect_uri is not registered for the application, or the application is unknown."
        raise ShownToPerson(400, "invalid_request", message)
    session = session or (provider.sessions.by_sid(claims.get("sid")) if claims else None)
    return Asked(client, session, uri, params.get("state"), is_sure=is_hinted(session, claims))


def is_hinted(session: Session | None, claims: Mapping[str, Any] | None) -> bool:
    """Return whether the id_token belongs to the session."""
    return session is not None and claims is not None and claims.get("sid") == session.sid


def hint(provider: Dialect, token: str | None) -> dict[str, Any] | None:
    """Return the claims of an id_token that this provider has issued. It may have expired. Raises `ShownToPerson`."""
    if token is None:
        return None
    verified = provider.keys.verified(token) or provider.keys_for(unverified_audience(token)).verified(token)
    claims = verified[1] if verified else {}
    if claims.get("iss") != provider.addresses.issuer or not isinstance(claims.get("aud"), str):
        raise ShownToPerson(400, "invalid_request", "The id_token_hint was not issued by this provider.")
    return claims


def unverified_audience(token: str) -> str:
    """Return the `aud` of a token without checking the token."""
    try:
        claims = msgspec.json.decode(from_base64url(token.split(".")[1]), type=dict[str, Any])
    except (ValueError, IndexError, RecursionError):
        return ""
    return str(claims.get("aud", ""))


def end(provider: Dialect, session: Session) -> None:
    """End a session, and send a logout token to each application that has registered an address for it."""
    provider.sessions.end(session)
    for client_id, subject in session.clients.items():
        client = provider.world.clients.get(provider.name, client_id)
        if client is not None and client.backchannel_logout_uri:
            form = {"logout_token": logout_token(provider, client_id, subject, session.sid)}
            message = Message(provider.name, client_id, client.backchannel_logout_uri, session.sid, provider.now)
            provider.world.post(message, encode(form).encode())


def logout_token(provider: Dialect, client_id: str, subject: str, sid: str) -> str:
    """Return a signed logout token (Back-Channel Logout 2.4)."""
    claims = {
        "iss": provider.addresses.issuer,
        "sub": subject,
        "aud": client_id,
        "iat": provider.now,
        "exp": provider.now + LOGOUT_LIFE,
        "jti": provider.hexadecimal(32),
        "events": {EVENT: {}},
        "sid": sid,
    }
    return provider.keys_for(client_id).sign(claims, typ="logout+jwt")
