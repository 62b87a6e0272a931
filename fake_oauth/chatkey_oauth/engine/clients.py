"""The applications that may ask: who they are, their secret, and where a person may be sent back to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=r"^[\x21-\x7e]+$")]


class ClientError(ValueError):
    """A client that cannot be registered; the message names the member at fault."""


class Client(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An application registered at one provider. Without a secret it is a public one, which must use PKCE.

    `name` is what the consent page shows, so that service-owned and own keys can be told apart.
    """

    provider: Identifier
    client_id: Identifier
    client_secret: str = ""
    name: str = ""
    redirect_uris: tuple[str, ...]

    @property
    def title(self) -> str:
        """The name a person sees."""
        return self.name or self.client_id


def check_client(client: Client) -> None:
    """Refuse a client without a usable redirect URI: absolute, ASCII, without fragment (RFC 6749 3.1.2)."""
    if not client.redirect_uris:
        raise ClientError(f"client {client.client_id!r} has no redirect_uris: give at least one")
    for uri in client.redirect_uris:
        if not urlsplit(uri).scheme or "#" in uri or not is_printable(uri):
            raise ClientError(f"redirect_uris of {client.client_id!r}: {uri!r} is not an absolute URI without fragment")


def is_printable(uri: str) -> bool:
    """Tell whether a URI consists of visible ASCII only and can stand in a header."""
    return uri.isascii() and uri.isprintable() and " " not in uri


class Clients:
    """The registered clients, by provider and client id."""

    def __init__(self, clients: Iterable[Client] = ()) -> None:
        self._initial = tuple(clients)
        self._clients: dict[tuple[str, str], Client] = {}
        self.reset()

    def reset(self) -> None:
        """Return to the clients registered at start."""
        self._clients.clear()
        for client in self._initial:
            self.add(client)

    def add(self, client: Client) -> None:
        """Register a client, replacing one of the same id. Raises `ClientError`."""
        check_client(client)
        self._clients[client.provider, client.client_id] = client

    def get(self, provider: str, client_id: str) -> Client | None:
        """Find a client of a provider."""
        return self._clients.get((provider, client_id))

    def remove(self, provider: str, client_id: str) -> bool:
        """Forget a client; tell whether there was one."""
        return self._clients.pop((provider, client_id), None) is not None

    def all(self) -> list[Client]:
        """Every registered client."""
        return list(self._clients.values())
