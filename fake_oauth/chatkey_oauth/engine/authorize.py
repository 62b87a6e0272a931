"""The authorization endpoint (RFC 6749 4.1.1): read the request, show the consent page, act on the decision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from chatkey_oauth.engine import pages
from chatkey_oauth.engine.clients import Client, is_printable
from chatkey_oauth.engine.grants import Challenge, Code, Grant
from chatkey_oauth.engine.http import Answer, Call, encode, redirect
from chatkey_oauth.engine.refusals import SentBack, ShownToPerson
from chatkey_oauth.engine.text import clean

if TYPE_CHECKING:
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.provider import Provider

COOKIE_PREFIX = "chatkey_fake_"
METHODS = {"s256": "S256", "plain": "plain"}


class Callback(msgspec.Struct, frozen=True):
    """The way back to the client: where to, with which parameters, and how. `page` is shown instead of going there."""

    redirect_uri: str
    params: Mapping[str, str]
    mode: str = "query"
    fragment: str = ""
    page: Answer | None = None


class AuthorizationRequest(msgspec.Struct, frozen=True):
    """An authorization request that may be shown to a person. `query` has all parameters as they came."""

    client: Client
    redirect_uri: str
    response_mode: str
    scopes: tuple[str, ...]
    challenge: Challenge | None
    query: Mapping[str, str]


def start(provider: Provider, call: Call) -> Answer:
    """Show the consent page; or send back at once who need not be asked again."""
    request = read(provider, call)
    if provider.moment is not None and (answer := provider.moment.instead(request)):
        return answer
    hint = request.query.get(provider.hint, "")
    if unasked := provider.world.approval.person(hint):
        return approve(provider, request, unasked, request.scopes, provider.settle(request, unasked, {}))
    known = account_of(provider, call)
    if known and provider.skips_consent(request) and already_allowed(provider, request, known):
        return approve(provider, request, known, request.scopes, {})
    if error := provider.page_refused(request, signed_in=known is not None):
        params = provider.callback(provider.fault_params(error, "The person would have to be asked."), request.query)
        raise SentBack(request.redirect_uri, params, request.response_mode)
    hinted = provider.world.people.find(hint)
    return pages.consent_page(provider, request, call.query_string, selected=hinted or known)


def decide(provider: Provider, call: Call) -> Answer:
    """Act on the consent form. The request comes along in the address and is read anew: nothing is kept between."""
    request = read(provider, call)
    if provider.moment is not None and (answer := provider.moment.instead(request)):
        return answer
    if call.form.get("decision") != "approve":
        params = provider.callback(provider.denied_params(), request.query)
        raise SentBack(request.redirect_uri, params, request.response_mode)
    person = provider.world.people.get(call.form.get("account", ""))
    if person is None:
        raise ShownToPerson(400, "account_unknown", "There is no such account. Choose one of the list.")
    chosen = provider.settle(request, person, call.form)
    answer = approve(provider, request, person, shared(provider, request, call), chosen)
    return msgspec.structs.replace(answer, headers=(*answer.headers, ("set-cookie", cookie(provider, person))))


def approve(
    provider: Provider,
    request: AuthorizationRequest,
    person: Person,
    scopes: tuple[str, ...],
    chosen: Mapping[str, str],
) -> Answer:
    """Make the code and send the browser back with it. What was chosen the first time stays."""
    client_id = request.client.client_id
    first = provider.grants.consented(client_id, person.id) is None
    scopes = provider.granted_scopes(request, person, scopes)
    if provider.moment is not None:
        scopes = provider.moment.approved(person, scopes)
    consent = provider.grants.consent(client_id, person.id, request.scopes, scopes)
    grant = Grant(
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
        flow=None if provider.moment is None else provider.moment.flow_id,
    )
    if first:
        grant.consent.chosen = chosen
    code = provider.new_code()
    provider.grants.codes.put(code, Code(grant, provider.world.clock() + provider.lives().code))
    params = {"code": code} | provider.approved_params(request, grant, first=first)
    params |= provider.front_channel(request, grant, code)
    params = provider.callback(params, request.query)
    return send_back(provider, Callback(request.redirect_uri, params, request.response_mode, provider.fragment))


# Reading


def read(provider: Provider, call: Call) -> AuthorizationRequest:
    """Check a request in the order that keeps it from being an open redirector: client, redirect URI, the rest."""
    query = call.query
    client = provider.world.clients.get(provider.name, query.get(provider.client_parameter, ""))
    if client is None:
        raise provider.client_refused(query.get(provider.client_parameter))
    redirect_uri = read_redirect_uri(provider, client, call)
    for name in provider.required_params:
        if not query.get(name):
            raise fault(provider, query, redirect_uri, "invalid_request", f"Missing required parameter: {name}.")
    request = AuthorizationRequest(
        client=client,
        redirect_uri=redirect_uri,
        response_mode=read_response(provider, query, redirect_uri),
        scopes=read_scopes(provider, query, redirect_uri),
        challenge=read_challenge(provider, client, query, redirect_uri),
        query=query,
    )
    provider.check_request(request)
    return request


def read_redirect_uri(provider: Provider, client: Client, call: Call) -> str:
    """The registered URI asked for, or the first one where the parameter is optional."""
    uri = call.query.get("redirect_uri")
    if uri is None and not provider.redirect_uri_required:
        return client.redirect_uris[0]
    if uri is None:
        raise ShownToPerson(400, "invalid_request", "Missing required parameter: redirect_uri.")
    if not is_printable(uri) or not (client.leads_home(uri) or provider.redirect_allowed(client, uri)):
        raise provider.redirect_refused(client, call)
    return uri


def read_response(provider: Provider, query: Mapping[str, str], redirect_uri: str) -> str:
    """The response mode, for a response type this provider knows."""
    response_type = query.get("response_type")
    if response_type is None and provider.response_type_required:
        raise fault(provider, query, redirect_uri, "invalid_request", "Missing required parameter: response_type.")
    if response_type not in {None, *provider.response_types}:
        description = "The authorization server does not support this response type."
        raise fault(provider, query, redirect_uri, "unsupported_response_type", description)
    mode = query.get("response_mode", "query")
    if mode not in provider.response_modes:
        description = "The authorization server does not support this response mode."
        raise fault(provider, query, redirect_uri, "unsupported_response_mode", description)
    return mode


def read_scopes(provider: Provider, query: Mapping[str, str], redirect_uri: str) -> tuple[str, ...]:
    """The scopes asked for."""
    asked = query.get("scope", provider.default_scope)
    if asked is None:
        raise fault(provider, query, redirect_uri, "invalid_scope", "Missing required parameter: scope.")
    scopes = split_scopes(asked)
    known = not provider.strict_scopes or provider.scopes.keys() >= set(scopes)
    if not known or not all(map(is_printable, scopes)):
        description = "The requested scope is invalid, unknown, or malformed."
        raise fault(provider, query, redirect_uri, "invalid_scope", description)
    return scopes


def split_scopes(text: str) -> tuple[str, ...]:
    """Scopes separated by spaces, commas or plus signs, each once."""
    return tuple(dict.fromkeys(part for part in re.split(r"[ ,+]+", text) if part))


def read_challenge(provider: Provider, client: Client, query: Mapping[str, str], redirect_uri: str) -> Challenge | None:
    """The PKCE challenge; the method `plain` where none is named (RFC 7636 4.3)."""
    value = query.get("code_challenge")
    if not value or provider.ignores_challenge():
        if provider.needs_challenge(client):
            raise fault(provider, query, redirect_uri, "invalid_request", "Missing required parameter: code_challenge.")
        return None
    method = METHODS.get(query.get("code_challenge_method", "plain").lower())
    if method not in provider.challenge_methods:
        description = f"The code_challenge_method must be {' or '.join(provider.challenge_methods)}."
        raise fault(provider, query, redirect_uri, "invalid_request", description)
    return Challenge(value, provider.comparison(client, method))


def fault(
    provider: Provider, query: Mapping[str, str], redirect_uri: str, error: str, description: str
) -> ShownToPerson | SentBack:
    """A fault of the request, on the provider's page or back to the client, whichever this provider does."""
    if provider.shows_fault(error):
        return ShownToPerson(400, error, description)
    mode = query.get("response_mode", "query")
    params = provider.callback(provider.fault_params(error, description), query)
    return SentBack(redirect_uri, params, mode if mode in provider.response_modes else "query")


# Deciding


def already_allowed(provider: Provider, request: AuthorizationRequest, person: Person) -> bool:
    """Tell whether this person allowed this client as much before."""
    consented = provider.grants.consented(request.client.client_id, person.id)
    return consented is not None and consented.allowed >= set(request.scopes)


def shared(provider: Provider, request: AuthorizationRequest, call: Call) -> tuple[str, ...]:
    """The scopes without those that were offered to be left out and not ticked."""
    offered = {value for name, value in call.form_pairs if name == "offered"} & provider.may_decline(request)
    ticked = {value for name, value in call.form_pairs if name == "share"}
    return tuple(scope for scope in request.scopes if scope not in offered - ticked)


def account_of(provider: Provider, call: Call) -> Person | None:
    """Who signed in last in this browser."""
    return provider.world.people.get(call.cookie(COOKIE_PREFIX + provider.name) or "")


def cookie(provider: Provider, person: Person) -> str:
    """Remember who signed in. The name is the provider's, because cookies ignore ports."""
    secure = "; Secure" if provider.addresses.browser.startswith("https:") else ""
    path = provider.browser_path or "/"
    return f"{COOKIE_PREFIX}{provider.name}={person.id}; Path={path}; HttpOnly; SameSite=Lax{secure}"


# Sending back


def send_back(provider: Provider, callback: Callback) -> Answer:
    """Deliver the callback's parameters in the response mode asked for."""
    if provider.moment is not None:
        callback = provider.moment.callback(callback)
    uri, params = callback.redirect_uri, callback.params
    if callback.page is not None:
        return callback.page
    if callback.mode == "form_post":
        return pages.form_post(uri, params)
    if callback.mode == "fragment":
        return redirect(f"{uri}#{encode(params)}")
    joint = "&" if "?" in uri else "?"
    return redirect(f"{uri}{joint}{encode(params)}{callback.fragment}")
