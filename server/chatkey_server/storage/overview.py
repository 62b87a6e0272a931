"""Reads providers for administrators: all data except the secrets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from chatkey_server.storage.engine import snapshot
from chatkey_server.storage.providers import SERVICE
from chatkey_server.storage.tables import OAuthApplication, Provider, RegisteredDomain, SocialLogin


class SocialOverview(msgspec.Struct, frozen=True):
    """A social provider of a business. `client_id` is None if the keys are missing."""

    social: str
    enabled: bool
    key_source: str
    client_id: str | None


class ProviderOverview(msgspec.Struct, frozen=True):
    """A provider.

    `previous_until` is the time at which the previous secret expires, or 0 if there is no previous secret.
    """

    id: str
    name: str
    enabled: bool
    restrict_socket_origins: bool
    domains: tuple[str, ...]
    origins: tuple[str, ...]
    socials: tuple[SocialOverview, ...]
    previous_until: int
    created_at: int
    updated_at: int


async def overview() -> list[ProviderOverview]:
    """Return all providers, the oldest first. Raises `Refused(unavailable)` if the database cannot be reached."""
    async with snapshot():
        providers = await Provider.objects().order_by(Provider.created_at, Provider.id)
        domains = await RegisteredDomain.objects().order_by(RegisteredDomain.domain)
        logins = await SocialLogin.objects().order_by(SocialLogin.social)
        applications = await OAuthApplication.select(
            OAuthApplication.holder, OAuthApplication.social, OAuthApplication.client_id
        )
    client_ids = {(row["holder"], row["social"]): str(row["client_id"]) for row in applications}
    domains_of: defaultdict[str, list[RegisteredDomain]] = defaultdict(list)
    for domain in domains:
        domains_of[str(domain.provider)].append(domain)
    logins_of: defaultdict[str, list[SocialLogin]] = defaultdict(list)
    for login in logins:
        logins_of[str(login.provider)].append(login)
    return [_provider(row, domains_of[row.id], logins_of[row.id], client_ids) for row in providers]


def _provider(
    row: Provider,
    domains: Iterable[RegisteredDomain],
    logins: Iterable[SocialLogin],
    client_ids: dict[tuple[str, str], str],
) -> ProviderOverview:
    domains = list(domains)
    return ProviderOverview(
        id=row.id,
        name=row.name,
        enabled=row.enabled,
        restrict_socket_origins=row.restrict_socket_origins,
        domains=tuple(domain.domain for domain in domains),
        origins=tuple(origin for domain in domains for origin in domain.origins.split()),
        socials=tuple(
            SocialOverview(
                social=login.social,
                enabled=login.enabled,
                key_source=login.key_source,
                client_id=client_ids.get((SERVICE if login.key_source == "service" else row.id, login.social)),
            )
            for login in logins
        ),
        previous_until=row.previous_until if row.sealed_previous_secret_key else 0,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
