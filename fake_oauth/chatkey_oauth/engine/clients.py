"""Registered client applications: their id, secret and redirect URIs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import msgspec

from chatkey_oauth.engine.addresses import is_redirect_uri, leads_here

IDENTIFIER: Final = re.compile(r"[\x21-\x7e]{1,255}")
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=r"^[\x21-\x7e]+(?!\n)$")]


class ClientError(ValueError):
    """Raised for a client that cannot be registered. The message names the invalid member."""


class Client(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An application registered at one provider. A client without a secret is public and must use PKCE.

    The consent page shows `name`, so that people can distinguish keys of the service from keys of a customer. With
    `any_loopback`, every redirect URI on this machine is accepted. With `any_secret`, the client may send any secret,
    or none. With `remember_approval`, a person who has already granted the same scopes is redirected without a page.

    An Apple client has a team. Instead of a secret, it has the id and the public half (PEM or JWK) of its signing key.
    A TikTok client of `kind` "desktop" must use TikTok's variant of PKCE. For X, `request_email` is the setting
    "Request email from users"; without it no scope grants the e-mail address.

    At `oidc`, a logout may lead to the `post_logout_redirect_uris`, and sends a logout token to
    `backchannel_logout_uri`. There, `id_token_signed_response_alg` is the algorithm of id_tokens. With `access_tokens`
    "jwt", access tokens are JWTs (RFC 9068) for `audience`, which defaults to the issuer.
    """

    provider: Identifier
    client_id: Identifier
    client_secret: str = ""
    name: str = ""
    kind: Literal["web", "desktop"] = "web"
    redirect_uris: tuple[str, ...]
    any_loopback: bool = False
    any_secret: bool = False
    remember_approval: bool = False
    team_id: str = ""
    key_id: str = ""
    public_key: str | dict[str, Any] = ""
    request_email: bool = True
    post_logout_redirect_uris: tuple[str, ...] = ()
    backchannel_logout_uri: str = ""
    id_token_signed_response_alg: Literal["RS256", "ES256"] = "RS256"  # noqa: S105 - an algorithm
    access_tokens: Literal["opaque", "jwt"] = "opaque"
    audience: str = ""

    @property
    def is_public(self) -> bool:
        """Whether the client has neither a secret nor a key."""
        return not self.client_secret and not self.public_key and not self.any_secret

    @property
    def title(self) -> str:
        """The name that people see."""
        return self.name or self.client_id

    def leads_home(self, uri: str) -> bool:
        """Return whether a redirect URI needs no registration because it is on this machine (RFC 8252 7.3)."""
        return self.any_loopback and is_redirect_uri(uri) and leads_here(uri)


def check_redirect_uris(client: Client) -> None:
    """Check that there is at least one redirect URI, and that all are valid. Raises `ClientError`."""
    if not client.redirect_uris:
        raise ClientError(f"client {client.client_id!r} has no redirect_uris: add at least one")
    for uri in (*client.redirect_uris, *client.post_logout_redirect_uris):
        if not is_redirect_uri(uri):
            problem = (
                "is not an absolute URI without fragment, user name, backslash or space (RFC 3986), whose scheme is "
                "http, https or an app's own with a dot in it, such as com.example.app (RFC 8252 7.1)"
            )
            raise ClientError(f"redirect_uris of {client.client_id!r}: {uri!r} {problem}")


def check_backchannel(client: Client) -> None:
    """Check that the address for logout tokens is a web address. Raises `ClientError`."""
    uri = client.backchannel_logout_uri
    if uri and not (is_redirect_uri(uri) and uri.startswith(("http://", "https://"))):
        raise ClientError(f"backchannel_logout_uri of {client.client_id!r}: {uri!r} is not an http or https address")


def check_nothing_signed(client: Client) -> None:
    """Check that no member is set that only Apple clients may have. Raises `ClientError`."""
    if client.team_id or client.key_id or client.public_key:
        raise ClientError(
            f"team_id, key_id and public_key are only for apple; {client.client_id!r} is a client of {client.provider}"
        )


def anybody(provider: str, client_id: str) -> Client | None:
    """Create a client for an unregistered id. Return None if the id is malformed."""
    if not IDENTIFIER.fullmatch(client_id):
        return None
    return Client(
        provider=provider,
        client_id=client_id,
        redirect_uris=("http://127.0.0.1/callback",),
        any_loopback=True,
        any_secret=True,
    )


class Clients:
    """The registered clients, by provider and client id.

    `check` raises `ClientError` for an invalid client. With `takes_any`, every unregistered client id is accepted, with
    redirect URIs on this machine.
    """

    def __init__(self, clients: Sequence[Client], check: Callable[[Client], None], *, takes_any: bool = False) -> None:
        self._check = check
        self._initial = clients
        self._takes_any = takes_any

    @cached_property
    def _clients(self) -> dict[tuple[str, str], Client]:
        return {(client.provider, client.client_id): client for client in self._initial}

    def reset(self) -> None:
        """Restore the initial clients. They were validated when the settings were read."""
        self.__dict__.pop("_clients", None)

    def add(self, client: Client) -> None:
        """Register a client. A client with the same id is replaced. Raises `ClientError`."""
        self._check(client)
        self._clients[client.provider, client.client_id] = client

    def get(self, provider: str, client_id: str) -> Client | None:
        """Return a provider's client, or None if there is no client with this id."""
        known = self._clients.get((provider, client_id))
        return known or (anybody(provider, client_id) if self._takes_any else None)

    def remove(self, provider: str, client_id: str) -> bool:
        return self._clients.pop((provider, client_id), None) is not None

    def all(self) -> list[Client]:
        return list(self._clients.values())
