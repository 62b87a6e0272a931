"""How a client says who it is at the token endpoint, in every style that real client libraries use."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from hmac import compare_digest
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from chatkey_oauth.engine.refusals import Reason, TokenRefused

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client, Clients

Pair = tuple[str, str]


def authenticate(
    clients: Clients, provider: str, authorization: str, params: Mapping[str, str], *, basic: bool = True
) -> Client:
    """Find the client that proves to be itself, by Basic header (RFC 6749 2.3.1) or by parameters.

    `basic=False` is for providers that ignore the header. Raises `TokenRefused`.
    """
    offered = basic_pairs(authorization) if basic and authorization[:6].lower() == "basic " else body_pairs(params)
    known = [(client, secret) for name, secret in offered if (client := clients.get(provider, name))]
    if not known:
        raise TokenRefused(Reason.CLIENT_UNKNOWN, "client_id")
    for client, secret in known:
        if compare_digest(client.client_secret.encode(), secret.encode("utf-8", "surrogateescape")):
            return client
    raise TokenRefused(Reason.CLIENT_SECRET, "client_secret")


def basic_pairs(header: str) -> list[Pair]:
    """What a Basic header may mean: as it stands, which many libraries send, or form-encoded, which the RFC says."""
    try:
        text = b64decode(header[6:].strip(), validate=True).decode("utf-8", "surrogateescape")
    except (Base64Error, ValueError):
        return []
    name, colon, secret = text.partition(":")
    if not colon:
        return []
    return list(dict.fromkeys([(name, secret), (unquote_plus(name), unquote_plus(secret))]))


def body_pairs(params: Mapping[str, str]) -> list[Pair]:
    """The client's parameters; a public client has no secret."""
    return [(params["client_id"], params.get("client_secret", ""))] if params.get("client_id") else []
