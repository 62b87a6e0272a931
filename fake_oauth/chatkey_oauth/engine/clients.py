"""The applications that may ask: who they are, their secret, and where a person may be sent back to."""

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
    """A client that cannot be registered; the message names the member at fault."""


class Client(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An application registered at one provider. Without a secret it is a public one, which must use PKCE.

    `name` is what the consent page shows, so that service-owned and own keys can be told apart. With `any_loopback`
    every redirect URI on this machine is as good as registered, with `any_secret` every secret is right, or none.

    With `remember_approval` nobody is asked twice: who approved as much before is sent back without a page.

    At Apple it has a team, and instead of a secret the id and the public half (PEM or JWK) of the key it signs with.
    At TikTok, one of the `kind` "desktop" must use PKCE, in a form of TikTok's own.
    At X, `request_email` is the switch "Request email from users", without which no scope brings an address.
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

    @property
    def is_public(self) -> bool:
        """Tell whether the client has nothing to prove itself by."""
        return not self.client_secret and not self.public_key and not self.any_secret

    @property
    def title(self) -> str:
        """The name a person sees."""
        return self.name or self.client_id

    def leads_home(self, uri: str) -> bool:
        """Tell whether a redirect URI needs no registration, because it leads to this machine (RFC 8252 7.3)."""
        return self.any_loopback and is_redirect_uri(uri) and leads_here(uri)


def check_redirect_uris(client: Client) -> None:
    """Refuse a client without redirect URIs, or with one that is none. Raises `ClientError`."""
    if not client.redirect_uris:
        raise ClientError(f"client {client.client_id!r} has no redirect_uris: give at least one")
    for uri in client.redirect_uris:
        if not is_redirect_uri(uri):
            problem = (
                "is not an absolute URI without fragment, user name, backslash or space (RFC 3986), whose scheme is "
                "http, https or an app's own with a dot in it, such as com.example.app (RFC 8252 7.1)"
            )
            raise ClientError(f"redirect_uris of {client.client_id!r}: {uri!r} {problem}")


def check_nothing_signed(client: Client) -> None:
    """Refuse a client with what only an Apple application has. Raises `ClientError`."""
    if client.team_id or client.key_id or client.public_key:
        raise ClientError(f"team_id, key_id and public_key are for apple; {client.client_id!r} is of {client.provider}")


def anybody(provider: str, client_id: str) -> Client | None:
    """A client of this id that nobody registered; None for a text that is no id."""
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
    """The registered clients, by provider and client id. `check` raises `ClientError` for one that may not be.

    While it `takes_any`, whoever is not registered is one that comes back to this machine.
    """

    def __init__(self, clients: Sequence[Client], check: Callable[[Client], None], *, takes_any: bool = False) -> None:
        self._check = check
        self._initial = clients
        self._takes_any = takes_any

    @cached_property
    def _clients(self) -> dict[tuple[str, str], Client]:
        return {(client.provider, client.client_id): client for client in self._initial}

    def reset(self) -> None:
        """Return to the clients registered at start, which whoever read them has checked."""
        self.__dict__.pop("_clients", None)

    def add(self, client: Client) -> None:
        """Register a client, replacing one of the same id. Raises `ClientError`."""
        self._check(client)
        self._clients[client.provider, client.client_id] = client

    def get(self, provider: str, client_id: str) -> Client | None:
        """Find a client of a provider."""
        known = self._clients.get((provider, client_id))
        return known or (anybody(provider, client_id) if self._takes_any else None)

    def remove(self, provider: str, client_id: str) -> bool:
        """Forget a client; tell whether there was one."""
        return self._clients.pop((provider, client_id), None) is not None

    def all(self) -> list[Client]:
        """Every registered client."""
        return list(self._clients.values())
