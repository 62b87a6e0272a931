"""Providers as immutable values for the rest of the server, cached for at most 60 seconds (D-02)."""

from __future__ import annotations

import asyncio
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextvars import Context
from hashlib import sha256
from typing import Final, Literal, TypeVar, cast

import msgspec

from chatkey_protocol.codes import Code
from chatkey_protocol.names import AVAILABLE_SOCIALS
from chatkey_server.clock import Now
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Secrets
from chatkey_server.storage import tables
from chatkey_server.storage.engine import snapshot
from chatkey_server.storage.vault import Vault

CACHE_SECONDS: Final = 60
CACHE_SIZE: Final = 10_000
"""How many views, and how many unknown ids, are cached. Above that, the oldest are dropped."""

SERVICE: Final = "service"
"""The holder of the service-owned applications. No provider may have this id."""

KeySource = Literal["service", "own"]
"""Whose OAuth application a social login uses: the service's, or the business's own (modes 3 and 4)."""

T = TypeVar("T")

PROVIDER_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Quiet(msgspec.Struct, frozen=True):
    """A value whose secrets do not appear in `repr` or in rich's output."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return []


class Application(Quiet, frozen=True):
    """The OAuth application of a social login, with decrypted secrets. `repr` does not show the secrets."""

    client_id: str
    client_secret: str | None = None
    team_id: str | None = None
    key_id: str | None = None
    p8: str | None = None


class SocialLogin(msgspec.Struct, frozen=True):
    """An enabled social provider of a business. `application` is None if the keys are missing."""

    social: str
    key_source: KeySource
    application: Application | None


class ProviderView(Quiet, frozen=True):
    """The data of one provider that requests and sockets need."""

    id: str
    enabled: bool
    secrets: Secrets
    origins: tuple[str, ...]
    restrict_socket_origins: bool
    socials: dict[str, SocialLogin]
    configuration: bytes
    """The whole body of the configuration endpoint, `{"data": …}`, encoded once."""
    etag: str
    """The entity tag of the body, including its quotes."""

    def __repr__(self) -> str:
        return f"ProviderView(id={self.id!r}, …)"


class Providers:
    """Looks up providers, one query per id at a time.

    Caches the results for `CACHE_SECONDS`, including missing providers.
    """

    def __init__(self, *, now: Now, vault: Vault, socket_uri: str, offered: Sequence[str] = AVAILABLE_SOCIALS) -> None:
        self._now = now
        self._vault = vault
        self._socket_uri = socket_uri
        self._offered = offered
        self._views: dict[str, tuple[float, ProviderView]] = {}
        self._missing: dict[str, tuple[float, None]] = {}
        self._flights: dict[str, asyncio.Task[ProviderView | None]] = {}

    def cached(self, provider_id: str, max_age: float = CACHE_SECONDS) -> ProviderView | None:
        """Return a cached view that is younger than `max_age` seconds, or None, without waiting."""
        kept = self._views.get(provider_id)
        return kept[1] if kept is not None and self._is_younger(kept[0], max_age) else None

    async def find(self, provider_id: str, max_age: float = CACHE_SECONDS) -> ProviderView | None:
        """Return the provider as it was at most `max_age` seconds ago. Raises `Refused(unavailable)` in an outage."""
        view = self.cached(provider_id, max_age)
        if view is None and self._may_exist(provider_id):
            view = await asyncio.shield(self._flight(provider_id))
        return view

    async def get(self, provider_id: str) -> ProviderView:
        """Return the provider. Raises `Refused(provider_unknown)`, or `Refused(unavailable)` during an outage."""
        view = await self.find(provider_id)
        if view is None:
            raise Refused(Code.PROVIDER_UNKNOWN, "There is no provider with this id.", member="id")
        return view

    def forget(self, provider_id: str | None = None) -> None:
        """Drop one cached view, or all of them, because the data has changed."""
        for kept in (self._views, self._missing, self._flights):
            if provider_id is None:
                kept.clear()
            else:
                kept.pop(provider_id, None)

    def _is_younger(self, since: float, seconds: float) -> bool:
        return 0 <= self._now() - since < seconds

    def _may_exist(self, provider_id: str) -> bool:
        if not PROVIDER_ID.fullmatch(provider_id):
            return False
        kept = self._missing.get(provider_id)
        return kept is None or not self._is_younger(kept[0], CACHE_SECONDS)

    def _flight(self, provider_id: str) -> asyncio.Task[ProviderView | None]:
        """Return the running query for this id, or start one. If a waiting caller is cancelled, the query continues."""
        flight = self._flights.get(provider_id)
        if flight is None:
            # In a separate context, because the query must not join a caller's transaction.
            flight = asyncio.get_running_loop().create_task(self._load(provider_id), context=Context())
            flight.add_done_callback(lambda done: self._landed(provider_id, done))
            self._flights[provider_id] = flight
        return flight

    def _landed(self, provider_id: str, flight: asyncio.Task[ProviderView | None]) -> None:
        if self._flights.get(provider_id) is flight:
            del self._flights[provider_id]
        if not flight.cancelled():
            flight.exception()  # marks the error as retrieved, even if every waiting caller has gone

    async def _load(self, provider_id: str) -> ProviderView | None:
        asked_at = self._now()
        flight = asyncio.current_task()
        view = await load(provider_id, self._vault, self._socket_uri, self._offered)
        if self._flights.get(provider_id) is flight:  # otherwise `forget` was called meanwhile
            if view is None:
                self._views.pop(provider_id, None)
                _keep(self._missing, provider_id, (asked_at, None))
            else:
                _keep(self._views, provider_id, (asked_at, view))
        return view


def _keep(kept: dict[str, T], provider_id: str, answer: T) -> None:
    kept.pop(provider_id, None)
    if len(kept) >= CACHE_SIZE:
        del kept[next(iter(kept))]
    kept[provider_id] = answer


def unknown(provider_id: str, *, member: str = "id") -> Refused:
    """Build the refusal for an unknown provider. Use this function only for callers who may know which ids exist."""
    return Refused(Code.PROVIDER_UNKNOWN, f"There is no provider {provider_id!r}.", member=member)


async def load(
    provider_id: str, vault: Vault, socket_uri: str, offered: Sequence[str] = AVAILABLE_SOCIALS
) -> ProviderView | None:
    """Read a provider with its offered social logins. Raises `Refused(unavailable)` during an outage."""
    async with snapshot():
        provider = await tables.Provider.objects().get(tables.Provider.id == provider_id)
        if provider is None:
            return None
        domains = (
            await tables.RegisteredDomain.objects()
            .where(tables.RegisteredDomain.provider == provider_id)
            .order_by(tables.RegisteredDomain.domain)
        )
        logins = await tables.SocialLogin.objects().where(
            tables.SocialLogin.provider == provider_id, tables.SocialLogin.enabled.eq(True)
        )
        applications = await tables.OAuthApplication.objects().where(
            tables.OAuthApplication.holder.is_in([provider_id, SERVICE])
        )
    opened = {(row.holder, row.social): opened_application(row, vault) for row in applications}
    socials = _socials(logins, opened, provider_id, offered)
    configuration = _configuration(provider, socials, socket_uri)
    return ProviderView(
        id=provider.id,
        enabled=provider.enabled,
        secrets=_secrets(provider, vault),
        origins=tuple(origin for row in domains for origin in row.origins.split()),
        restrict_socket_origins=provider.restrict_socket_origins,
        socials=socials,
        configuration=configuration,
        etag=f'"{urlsafe_b64encode(sha256(configuration).digest()[:16]).decode().rstrip("=")}"',
    )


def _socials(
    logins: Iterable[tables.SocialLogin],
    applications: Mapping[tuple[str, str], Application],
    provider_id: str,
    offered: Sequence[str],
) -> dict[str, SocialLogin]:
    """Return the enabled social logins in the order of the login page, each with the keys that the business chose."""
    sources: dict[str, KeySource] = {login.social: cast("KeySource", login.key_source) for login in logins}
    holders = {"service": SERVICE, "own": provider_id}
    return {
        social: SocialLogin(social, sources[social], applications.get((holders[sources[social]], social)))
        for social in offered
        if social in sources
    }


def opened_application(row: tables.OAuthApplication, vault: Vault) -> Application:
    """Return an application's keys with decrypted secrets."""
    return Application(
        client_id=row.client_id,
        client_secret=vault.open(row.sealed_client_secret) if row.sealed_client_secret else None,
        team_id=row.team_id,
        key_id=row.key_id,
        p8=vault.open(row.sealed_p8) if row.sealed_p8 else None,
    )


def _secrets(provider: tables.Provider, vault: Vault) -> Secrets:
    previous = provider.sealed_previous_secret_key
    return Secrets(
        current=vault.open(provider.sealed_secret_key).encode(),
        previous=vault.open(previous).encode() if previous else None,
        previous_until=provider.previous_until,
    )


def _configuration(provider: tables.Provider, socials: Mapping[str, SocialLogin], socket_uri: str) -> bytes:
    """Return the body of the configuration endpoint (contract 2.2, D-02)."""
    return msgspec.json.encode(
        {
            "data": {
                "socket_uri": socket_uri,
                "livechat": {
                    "enabled": provider.livechat_enabled,
                    "title": provider.livechat_title,
                    "greeting": provider.livechat_greeting,
                },
                "service": {
                    "enabled": provider.service_enabled,
                    "title": provider.service_title,
                    "greeting": provider.service_greeting,
                },
                "ui": {"colour": provider.ui_colour, "position": provider.ui_position, "locale": provider.ui_locale},
                "auth": {"oauth_providers": [name for name, social in socials.items() if social.application]},
            }
        }
    )
