"""Checks and makes the changes of administrators, for the command line, the lab and the admin panel.

Every function raises `Refused`. The codes are `parameter_invalid` (the message names the member), `provider_unknown`
and `unavailable`.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from typing import Final, TypedDict, Unpack

from chatkey_protocol.codes import Code
from chatkey_protocol.names import AVAILABLE_SOCIALS
from chatkey_server.identity import origins
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.checks import CHECKS, check_application, check_text, invalid, signing_secret
from chatkey_server.storage.engine import transaction
from chatkey_server.storage.providers import (
    PROVIDER_ID,
    SERVICE,
    Application,
    KeySource,
    Quiet,
    opened_application,
    unknown,
)
from chatkey_server.storage.tables import (
    UNIQUE,
    ChatCustomer,
    Conversation,
    OAuthApplication,
    OAuthFlow,
    Provider,
    RegisteredDomain,
    SocialLogin,
)
from chatkey_server.storage.vault import Vault

MOST_DOMAINS: Final = 100
MOST_OVERLAP_SECONDS: Final = 30 * 24 * 3600


class NewProvider(Quiet, frozen=True):
    """A provider that was just created. Its secret is returned only here."""

    id: str
    secret_key: str


class ProviderChanges(TypedDict, total=False):
    """The data of a provider that can be changed (D-02)."""

    name: str
    enabled: bool
    restrict_socket_origins: bool
    livechat_enabled: bool
    livechat_title: str
    livechat_greeting: str
    service_enabled: bool
    service_title: str
    service_greeting: str
    ui_colour: str
    ui_position: str
    ui_locale: str


async def add_provider(
    vault: Vault,
    *,
    now: float,
    id: str | None = None,  # noqa: A002 - the contract's word
    name: str | None = None,
    secret_key: str | None = None,
    domains: Iterable[str] = (),
    ui_locale: str = "",
) -> NewProvider:
    """Create a provider. An id or a secret that is not given is generated.

    Without a `ui_locale`, the widget uses each visitor's language.
    """
    made = NewProvider(f"prov_{secrets.token_hex(8)}" if id is None else id, signing_secret(secret_key))
    if not PROVIDER_ID.fullmatch(made.id) or made.id == SERVICE:
        raise invalid(
            "id",
            (
                "must be 1 to 64 characters from A-Z a-z 0-9 _ -, must not begin with _ or -, and must not "
                f"be {SERVICE!r}"
            ),
        )
    check_text("name", made.id if name is None else name, 255)
    CHECKS["ui_locale"]("ui_locale", ui_locale)
    async with transaction():
        added = (
            await Provider.insert(
                Provider(
                    id=made.id,
                    name=made.id if name is None else name,
                    sealed_secret_key=vault.seal(made.secret_key),
                    ui_locale=ui_locale,
                    created_at=int(now),
                    updated_at=int(now),
                )
            )
            .on_conflict(target=Provider.id, action="DO NOTHING")
            .returning(Provider.id)
        )
        if not added:
            raise invalid("id", f"{made.id!r} is taken; choose another")
        await set_domains(made.id, domains, now=now)
    return made


async def update_provider(provider_id: str, *, now: float, **changes: Unpack[ProviderChanges]) -> None:
    values = dict(changes)
    for member, value in values.items():
        CHECKS[member](member, value)
    async with transaction():
        await _touch(provider_id, now)
        if values:
            await Provider.update(
                {getattr(Provider, member): value for member, value in values.items()}, force=True
            ).where(Provider.id == provider_id)


async def remove_provider(provider_id: str, *, now: float) -> None:
    """Remove a provider and all of its data: keys, logins, members and conversations."""
    async with transaction():
        await _touch(provider_id, now)
        await OAuthApplication.delete().where(OAuthApplication.holder == provider_id)
        await OAuthFlow.delete().where(OAuthFlow.provider == provider_id)
        await Conversation.delete().where(Conversation.provider == provider_id)
        await ChatCustomer.delete().where(ChatCustomer.provider == provider_id)
        await Provider.delete().where(Provider.id == provider_id)


async def set_domains(provider_id: str, domains: Iterable[str], *, now: float) -> None:
    """Replace the registered domains. A domain is a host with an optional port (D-08)."""
    registered = {domain: origins.registrable(domain) for domain in domains}
    if len(registered) > MOST_DOMAINS:
        raise invalid("domains", f"must be at most {MOST_DOMAINS}")
    async with transaction():
        await _touch(provider_id, now)
        gone = RegisteredDomain.domain.not_in([*registered, ""])  # Piccolo rejects an empty list; no domain is empty
        await RegisteredDomain.delete().where(RegisteredDomain.provider == provider_id, gone)
        for domain, serialised in registered.items():
            await RegisteredDomain.insert(
                RegisteredDomain(provider=provider_id, domain=domain, origins=" ".join(serialised))
            ).on_conflict(target=UNIQUE[RegisteredDomain][0], action="DO UPDATE", values=[RegisteredDomain.origins])


async def replace_domain(provider_id: str, old: str | None, new: str | None, *, now: float) -> None:
    """Add a registered domain (if `old` is None), replace the domain, or remove it (if `new` is None)."""
    async with transaction():
        rows = await RegisteredDomain.objects().where(RegisteredDomain.provider == provider_id)
        registered = [row.domain for row in rows]
        if new is not None and new != old and new in registered:
            raise invalid("domain", f"{new!r} is already registered")
        if new is not None and old is not None:  # updated in place, so that the row keeps its id
            here = (RegisteredDomain.provider == provider_id) & (RegisteredDomain.domain == old)
            await RegisteredDomain.update({RegisteredDomain.domain: new}).where(here)
        kept = [domain for domain in registered if domain != old]
        await set_domains(provider_id, kept if new is None else [*kept, new], now=now)


async def set_social(
    provider_id: str,
    social: str,
    *,
    now: float,
    enabled: bool = True,
    key_source: KeySource = "service",
    offered: Collection[str] = AVAILABLE_SOCIALS,
) -> None:
    """Switch a social provider on or off for a business, and set whose application is used."""
    if social not in offered:
        known = ", ".join(offered)
        raise Refused(
            Code.SOCIAL_UNKNOWN, f"There is no social provider {social!r}. Available: {known}.", member="social"
        )
    if key_source not in {"service", "own"}:
        raise invalid("key_source", "must be 'service' or 'own'")
    async with transaction():
        await _touch(provider_id, now)
        if key_source == "own" and not await _has_application(provider_id, social):
            raise invalid(
                "key_source",
                f"is 'own', but this provider has no {social} keys; set client_id and client_secret first",
            )
        await SocialLogin.insert(
            SocialLogin(provider=provider_id, social=social, enabled=enabled, key_source=key_source)
        ).on_conflict(
            target=UNIQUE[SocialLogin][0], action="DO UPDATE", values=[SocialLogin.enabled, SocialLogin.key_source]
        )


async def remove_social(provider_id: str, social: str, *, now: float) -> None:
    """Remove a social provider from a business, together with the business's own keys."""
    async with transaction():
        await SocialLogin.delete().where(SocialLogin.provider == provider_id, SocialLogin.social == social)
        await remove_application(provider_id, social, now=now)


async def remove_application(holder: str, social: str, *, now: float) -> None:
    async with transaction():
        if holder != SERVICE:
            await _touch(holder, now)
        await OAuthApplication.delete().where(OAuthApplication.holder == holder, OAuthApplication.social == social)


async def change_application(vault: Vault, holder: str, social: str, application: Application, *, now: float) -> None:
    """Store keys as `set_application` does, but keep a stored secret if no new secret is given.

    A stored secret belongs to the ids with which it was stored. A new `client_id`, `team_id` or `key_id` needs a new
    secret.
    """
    async with transaction():
        row = await OAuthApplication.objects().get(
            (OAuthApplication.holder == holder) & (OAuthApplication.social == social)
        )
        if row is not None:
            application = _with_kept_secrets(application, opened_application(row, vault))
        await set_application(vault, holder, social, application, now=now)


async def set_application(vault: Vault, holder: str, social: str, application: Application, *, now: float) -> None:
    """Store the keys of an OAuth application of a provider, or of the service if `holder` is `service`."""
    check_application(social, application)
    async with transaction():
        if holder != SERVICE:
            await _touch(holder, now)
        row = OAuthApplication(
            holder=holder,
            social=social,
            client_id=application.client_id,
            sealed_client_secret=vault.seal(application.client_secret) if application.client_secret else None,
            team_id=application.team_id,
            key_id=application.key_id,
            sealed_p8=vault.seal(application.p8) if application.p8 else None,
        )
        await OAuthApplication.insert(row).on_conflict(
            target=UNIQUE[OAuthApplication][0],
            action="DO UPDATE",
            values=[
                OAuthApplication.client_id,
                OAuthApplication.sealed_client_secret,
                OAuthApplication.team_id,
                OAuthApplication.key_id,
                OAuthApplication.sealed_p8,
            ],
        )


async def rotate_secret(
    vault: Vault, provider_id: str, *, now: float, overlap_seconds: int, secret_key: str | None = None
) -> str:
    """Give a provider a new secret and return it. The old secret stays valid for `overlap_seconds` (D-05)."""
    if not 0 <= overlap_seconds <= MOST_OVERLAP_SECONDS:
        raise invalid("overlap_seconds", f"must be from 0 to {MOST_OVERLAP_SECONDS} (30 days)")
    fresh = signing_secret(secret_key)
    async with transaction():
        await _touch(provider_id, now)
        row = await Provider.select(Provider.sealed_secret_key).where(Provider.id == provider_id).first()
        before = str(row["sealed_secret_key"]) if row else ""
        if vault.open(before) == fresh:
            raise invalid("secret_key", "is already in use; rotate to a different one")
        await Provider.update(
            {
                Provider.sealed_secret_key: vault.seal(fresh),
                Provider.sealed_previous_secret_key: before if overlap_seconds else None,
                Provider.previous_until: int(now) + overlap_seconds,
            }
        ).where(Provider.id == provider_id)
    return fresh


async def _touch(provider_id: str, now: float) -> None:
    """Record the time of a change. Raises `Refused` if there is no such provider."""
    touched = (
        await Provider.update({Provider.updated_at: int(now)}).where(Provider.id == provider_id).returning(Provider.id)
    )
    if not touched:
        raise unknown(provider_id)


async def _has_application(holder: str, social: str) -> bool:
    return bool(
        await OAuthApplication.exists().where(OAuthApplication.holder == holder, OAuthApplication.social == social)
    )


def _with_kept_secrets(given: Application, stored: Application) -> Application:
    ids = (given.client_id, given.team_id, given.key_id)
    if ids != (stored.client_id, stored.team_id, stored.key_id):
        return given
    return Application(
        given.client_id,
        client_secret=given.client_secret or stored.client_secret,
        team_id=given.team_id,
        key_id=given.key_id,
        p8=given.p8 or stored.p8,
    )
