"""The authorization endpoint (RFC 6749 4.1.1): shows the consent page and redirects to the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from chatkey_oauth.engine import id_tokens, pages
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

COOKIE_PREFIX: Final = "chatkey_fake_"


def start(provider: Dialect, call: Call) -> Answer:
    """Show the consent page. If no consent is needed, redirect immediately."""
    request = read(provider, call)
    if answer := call.hooks.instead(request):
        return answer
    hint = request.query.get(provider.hint, "")
    if unasked := provider.world.approval.person(hint):
        chosen = provider.settle(request, unasked, {})
        return approve(provider, call, request, Decision(unasked, request.scopes, chosen))
    known = account_of(provider, call)
    hinted = provider.world.people.find(hint)
    is_meant = hinted is None or hinted == known
    if known and is_meant and provider.skips_consent(request) and already_allowed(provider, request, known):
        return approve(provider, call, request, Decision(known, request.scopes, {}))
    if error := provider.page_refused(request, signed_in=known is not None):
        params = provider.callback(
            provider.fault_params(error, "The request requires interaction with the person."), request.query
        )
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
    answer = approve(provider, call, request, Decision(person, shared(provider, request, call), chosen))
    return msgspec.structs.replace(answer, headers=(*answer.headers, ("set-cookie", cookie(provider, person))))


def approve(provider: Dialect, call: Call, request: AuthorizationRequest, decision: Decision) -> Answer:
    """Issue a code, and redirect the browser to the client with this code."""
    grant = grant_of(provider, call.hooks, request, decision)
    code = provider.new_code()
    provider.grants.codes.put(code, Code(grant, provider.world.clock() + provider.lives().code))
    params = {"code": code} | provider.approved_params(request, grant, first=grant.first)
    if provider.is_hybrid(request):
        issued = Issued(grant, access="", refresh=None, issued_at=provider.now, expires_at=None)
        params["id_token"] = id_tokens.sign(provider, call.hooks, issued, c_hash=half_hash(code))
    params = provider.callback(params, request.query)
    return send_back(call, Callback(request.redirect_uri, params, request.response_mode, provider.fragment))


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
    offered = {value for name, value in call.form_pairs if name == "offered"} & provider.may_decline(request)
    ticked = {value for name, value in call.form_pairs if name == "share"}
    return tuple(scope for scope in request.scopes if scope not in offered - ticked)


def account_of(provider: Dialect, call: Call) -> Person | None:
    """Return the person who last signed in with this browser."""
    return provider.world.people.get(call.cookie(COOKIE_PREFIX + provider.name) or "")


def cookie(provider: Dialect, person: Person) -> str:
    """Return the cookie that stores who signed in.

    The cookie's name contains the provider, because cookies ignore ports.
    """
    secure = "; Secure" if provider.addresses.browser.startswith("https:") else ""
    path = provider.browser_path or "/"
    return f"{COOKIE_PREFIX}{provider.name}={person.id}; Path={path}; HttpOnly; SameSite=Lax{secure}"


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
