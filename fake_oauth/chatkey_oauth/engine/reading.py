"""Parses and checks an authorization request (RFC 6749 4.1.1), and decides where errors are reported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine import advice
from chatkey_oauth.engine.addresses import is_redirect_uri
from chatkey_oauth.engine.advice import advised
from chatkey_oauth.engine.grants import Challenge
from chatkey_oauth.engine.refusals import SentBack, ShownToPerson
from chatkey_oauth.engine.requests import AuthorizationRequest

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.dialect import Dialect

METHODS: Final = {"s256": "S256", "plain": "plain"}
"""The PKCE methods by their names in lower case. The provider accepts the names in any case."""


def read(provider: Dialect, call: Call) -> AuthorizationRequest:
    """Check a request: first the client, then the redirect URI, then the other parameters.

    Any other order would allow open redirects.
    """
    query = call.query
    client = provider.world.clients.get(provider.name, query.get(provider.client_parameter, ""))
    if client is None:
        named, everybody = query.get(provider.client_parameter), provider.world.clients.all()
        words = advice.unknown_client(provider.name, provider.client_parameter, named, everybody)
        raise advised(provider.client_refused(named), words)
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


def read_redirect_uri(provider: Dialect, client: Client, call: Call) -> str:
    """Return the requested redirect URI, which must be registered.

    If the parameter is optional and missing, return the first registered URI.
    """
    uri = call.query.get("redirect_uri")
    if uri is None and not provider.redirect_uri_required:
        return client.redirect_uris[0]
    if uri is None:
        missing = ShownToPerson(400, "invalid_request", "Missing required parameter: redirect_uri.")
        raise advised(missing, advice.foreign_redirect_uri(client, uri))
    if not is_redirect_uri(uri) or not (client.leads_home(uri) or provider.redirect_allowed(client, uri)):
        raise advised(provider.redirect_refused(client, call), advice.foreign_redirect_uri(client, uri))
    return uri


def read_response(provider: Dialect, query: Mapping[str, str], redirect_uri: str) -> str:
    """Return the response mode, after checking the response type."""
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


def read_scopes(provider: Dialect, query: Mapping[str, str], redirect_uri: str) -> tuple[str, ...]:
    """Return the requested scopes, or the default scopes. Raises `Refusal` for an invalid scope."""
    asked = query.get("scope", provider.default_scope)
    if asked is None or (provider.scope_required and not asked):
        error = "invalid_request" if provider.scope_required else "invalid_scope"
        missing = fault(provider, query, redirect_uri, error, "Missing required parameter: scope.")
        raise advised(missing, advice.unknown_scope(provider.label, provider.scopes, asked))
    scopes = split_scopes(asked)
    known = not provider.strict_scopes or provider.scopes.keys() >= set(scopes)
    if not known or not are_visible(scopes):
        description = "The requested scope is invalid, unknown, or malformed."
        unknown = fault(provider, query, redirect_uri, "invalid_scope", description)
        raise advised(unknown, advice.unknown_scope(provider.label, provider.scopes, asked))
    return scopes


@lru_cache(maxsize=256)
def split_scopes(text: str) -> tuple[str, ...]:
    """Split scopes at spaces, commas or plus signs, and remove duplicates."""
    return tuple(dict.fromkeys(part for part in re.split(r"[ ,+]+", text) if part))


@lru_cache(maxsize=256)
def are_visible(scopes: tuple[str, ...]) -> bool:
    return all(map(is_visible, scopes))


def is_visible(scope: str) -> bool:
    """Return whether a scope is visible ASCII (RFC 6749 3.3), so that a header can contain it."""
    return scope.isascii() and scope.isprintable() and " " not in scope


def read_challenge(provider: Dialect, client: Client, query: Mapping[str, str], redirect_uri: str) -> Challenge | None:
    """Return the PKCE challenge. The method defaults to `plain` (RFC 7636 4.3)."""
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
    provider: Dialect, query: Mapping[str, str], redirect_uri: str, error: str, description: str
) -> ShownToPerson | SentBack:
    """Build the error for an invalid request. This provider decides between a page and a redirect to the client."""
    if provider.shows_fault(error):
        return ShownToPerson(400, error, description)
    mode = query.get("response_mode", "query")
    params = provider.callback(provider.fault_params(error, description), query)
    return SentBack(redirect_uri, params, mode if mode in provider.response_modes else "query")
