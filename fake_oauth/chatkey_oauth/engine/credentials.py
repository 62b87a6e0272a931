"""Client authentication at the token endpoint, in all styles that client libraries use."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from chatkey_oauth.engine.refusals import Reason, TokenRefused

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.dialect import Dialect

Pair = tuple[str, str]


def authenticate(provider: Dialect, authorization: str, params: Mapping[str, str]) -> Client:
    """Return the client that authenticates with a Basic header (RFC 6749 2.3.1) or with parameters.

    The provider decides which methods it accepts and which secrets are valid. Raises `TokenRefused`.
    """
    by_header = provider.basic_auth and authorization[:6].lower() == "basic "
    offered = basic_pairs(authorization) if by_header else body_pairs(params, secrets=provider.body_auth)
    if not offered:
        raise TokenRefused(Reason.CLIENT_MISSING, "client_id")
    known = [
        (client, secret) for name, secret in offered if (client := provider.world.clients.get(provider.name, name))
    ]
    if not known:
        raise TokenRefused(Reason.CLIENT_UNKNOWN, "client_id")
    for client, secret in known:
        if provider.proves(client, secret):
            return client
    detail = "" if by_header or provider.body_auth else "which is only accepted in a Basic header"
    reason = Reason.CLIENT_SECRET if any(secret for _, secret in known) else Reason.SECRET_MISSING
    raise TokenRefused(reason, "client_secret", detail)


def basic_pairs(header: str) -> list[Pair]:
    """Return the possible values of a Basic header.

    Many libraries send the id and secret without encoding. The RFC requires form encoding.
    """
    try:
        text = b64decode(header[6:].strip(), validate=True).decode("utf-8", "surrogateescape")
    except (Base64Error, ValueError):
        return []
    name, colon, secret = text.partition(":")
    if not colon:
        return []
    return list(dict.fromkeys([(name, secret), (unquote_plus(name), unquote_plus(secret))]))


def body_pairs(params: Mapping[str, str], *, secrets: bool = True) -> list[Pair]:
    """Return the client id and secret in the body. Without `secrets`, or for public clients, the secret is empty."""
    name = params.get("client_id")
    return [(name, params.get("client_secret", "") if secrets else "")] if name else []
