"""The authorization endpoint (RFC 6749 4.1.1): shows the consent page and redirects to the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from chatkey_oauth.engine import id_tokens, pages
from chatkey_oauth.engine.dialect.request import COOKIE_PREFIX
from chatkey_oauth.engine.grants import Code, Grant, Issued
from chatkey_oauth.engine.http import Answer, encode, redirect
from chatkey_oauth.engine.reading import read
from chatkey_oauth.engine.refusals import SentBack, ShownToPerson
from chatkey_oauth.engine.requests import AuthorizationRequest, Callback, Decision
from chatkey_oauth.engine.signing import half_hash
from chatkey_oauth.engine.text import clean

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.hooks import Hooks
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.sessions import Session


def start(provider: Dialect, call: Call) -> Answer:
    """Show the consent page. If no consent is needed, redirect immediately."""
    request = read(provider, call)
    if answer := call.hooks.instead(request):
        return answer
    hint = request.query.get(provider.hint, "")
    if unasked := provider.world.approval.person(hint):
        chosen = provider.settle(request, unasked, {})
        return approve(provider, call, request, Decision(unasked, request.scopes, chosen))
    session, known = provider.session(call), account_of(provider, call)
    is_fresh = not provider.is_stale(request, session)
    hinted = provider.world.people.find(hint)
    is_meant = hinted is None or hinted == known
    if (
        known
        and is_fresh
        and is_meant
        and provider.skips_consent(request)
        and already_allowed(provider, request, known)
    ):
        return approve(provider, call, request, Decision(known, request.scopes, {}))
    if error := provider.page_refused(request, signed_in=known is not None and is_fresh):
        words = provider.page_refused_words(error, request.client)
        params = provider.callback(provider.fault_params(error, words), request.query)
        raise SentBack(request.redirect_uri, params, request.response_mode)
    return pages.consent_page(provider, call, request, selected=hinted or known)


def decide(provider: Dialect, call: Call) -> Answer:
    """Handle the submitted consent form.

    The URL of the form contains the authorization request, which is parsed again here. Therefore the server stores
    nothing between page and form.
    """
    request = read(provider, call)
    if answer := call.hooks.instead(request):
        return answer
    if call.form.get("decision") != "approve":
        params = provider.callback(provider.denied_params(), request.query)
        raise SentBack(request.redirect_uri, params, request.response_mode)
    person = provider.world.people.get(call.form.get("account", ""))
    if person is None:
        raise ShownToPerson(400, "account_unknown", "This account does not exist. Choose one from the list.")
    chosen = provider.settle(request, person, call.form)
    decision = Decision(person, shared(provider, request, call), chosen)
    if provider.keeps_sessions:
        return approve(provider, call, request, decision)
    answer = approve(provider, call, request, decision)
    return msgspec.structs.replace(answer, headers=(*answer.headers, ("set-cookie", cookie(provider, person.id))))


def approve(provider: Dialect, call: Call, request: AuthorizationRequest, decision: Decision) -> Answer:
    """Issue a code, and redirect the browser to the client with this code. Raises `Refusal`."""
    if refusal := provider.person_refused(call, decision.person):
        raise refusal
    grant = grant_of(provider, call.hooks, request, decision)
    session = open_session(provider, call, request, grant) if provider.keeps_sessions else None
    code = provider.new_code()
    provider.grants.codes.put(code, Code(grant, provider.world.clock() + provider.lives().code))
    params = {"code": code} | provider.approved_params(request, grant, first=grant.first)
    if provider.is_hybrid(request):
        issued = Issued(grant, access="", refresh=None, issued_at=provider.now, expires_at=None)
        params["id_token"] = id_tokens.sign(provider, call.hooks, issued, c_hash=half_hash(code))
    params = provider.callback(params, request.query)
    answer = send_back(call, Callback(request.redirect_uri, params, request.response_mode, provider.fragment))
    if session is None or session is provider.session(call):
        return answer
    return msgspec.structs.replace(answer, headers=(*answer.headers, ("set-cookie", cookie(provider, session.key))))


def open_session(provider: Dialect, call: Call, request: AuthorizationRequest, grant: Grant) -> Session:
    """Return the session of a login. A session continues if the same person did not have to sign in again."""
    session = provider.session(call)
    continues = session is not None and session.person_id == grant.person_id and not provider.asks_anew(request)
    if session is None or not continues or provider.is_stale(request, session):
        session = provider.sessions.begin(grant.person_id, provider.now)
    grant.sid, grant.auth_time = session.sid, session.auth_time
    person = provider.world.people.get(grant.person_id)
    if person is not None:
        session.clients[grant.client_id] = provider.subject(person, grant.client_id)
    return session


def grant_of(provider: Dialect, hooks: Hooks, request: AuthorizationRequest, decision: Decision) -> Grant:
    """Record the decision, and return its grant. The choices of the first approval are kept."""
    client_id, person = request.client.client_id, decision.person
    first = provider.grants.consented(client_id, person.id) is None
    scopes = hooks.approved(person, provider.granted_scopes(request, person, decision.scopes))
    consent = provider.grants.consent(client_id, person.id, request.scopes, scopes)
    if first:
        consent.chosen = decision.chose
    return Grant(
        consent=consent,
        client_id=client_id,
        person_id=person.id,
        scopes=scopes,
        redirect_uri=request.redirect_uri,
        nonce=clean(request.query["nonce"]) if "nonce" in request.query else None,
        challenge=request.challenge,
        auth_time=provider.now,
        refreshable=provider.refreshable(request, first=first),
        first=first,
        flow=hooks.flow_id,
    )


def already_allowed(provider: Dialect, request: AuthorizationRequest, person: Person) -> bool:
    """Return whether this person has already granted this client all requested scopes."""
    consented = provider.grants.consented(request.client.client_id, person.id)
    return consented is not None and consented.allowed >= set(request.scopes)


def shared(provider: Dialect, request: AuthorizationRequest, call: Call) -> tuple[str, ...]:
    """Return the requested scopes, without optional scopes that the person has deselected."""
    declinable = provider.may_decline(request)
    if not declinable:
        return request.scopes
    offered = {value for name, value in call.form_pairs if name == "offered"} & declinable
    ticked = {value for name, value in call.form_pairs if name == "share"}
    return tuple(scope for scope in request.scopes if scope not in offered - ticked)


def account_of(provider: Dialect, call: Call) -> Person | None:
    """Return the person who last signed in with this browser."""
    if not provider.keeps_sessions:
        return provider.world.people.get(call.cookie(COOKIE_PREFIX + provider.name) or "")
    session = provider.session(call)
    return None if session is None else provider.world.people.get(session.person_id)


def no_cookie(provider: Dialect) -> str:
    """Return the cookie that deletes the cookie of a session."""
    return f"{cookie(provider, '')}; Max-Age=0"


def cookie(provider: Dialect, value: str) -> str:
    """Return the cookie that stores who signed in, or the key of the session.

    The cookie's name contains the provider, because cookies ignore ports.
    """
    secure = "; Secure" if provider.addresses.browser.startswith("https:") else ""
    path = provider.browser_path or "/"
    return f"{COOKIE_PREFIX}{provider.name}={value}; Path={path}; HttpOnly; SameSite=Lax{secure}"


def send_back(call: Call, callback: Callback) -> Answer:
    callback = call.hooks.callback(callback)
    uri, params = callback.redirect_uri, callback.params
    if callback.page is not None:
        return callback.page
    if callback.mode == "form_post":
        return pages.form_post(uri, params)
    if callback.mode == "fragment":
        return redirect(f"{uri}#{encode(params)}")
    joint = "&" if "?" in uri else "?"
    return redirect(f"{uri}{joint}{encode(params)}{callback.fragment}")
