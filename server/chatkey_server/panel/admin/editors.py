"""The changes that are possible in the panel's tables. All changes follow the rules of `storage.admin`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import msgspec

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.panel.admin.tables import Domains, ServiceKeys, SocialLogins
from chatkey_server.storage import admin
from chatkey_server.storage.engine import snapshot, transaction
from chatkey_server.storage.providers import SERVICE, Application, Quiet

if TYPE_CHECKING:
    from piccolo.table import Table

    from chatkey_server.services import Services

Given = Mapping[str, object]
"""The values that the page sent for a row: all columns from a form, one column if several rows are changed at once."""

ROW_ID: Final = re.compile("[0-9]{1,9}")

Row = TypeVar("Row")

ONLY_SHOWN: Final = (
    "This table is read-only: its rows come from the logins and messages of the members. To erase a "
    "member, use the form Erase Person."
)


class Editor:
    """Changes the rows of one table. Every method returns the id of the changed provider, or None for all providers.

    An operation that a subclass does not override is refused.
    """

    async def add(self, given: Given) -> str | None:  # noqa: ARG002 - for those who override it
        raise _elsewhere(ONLY_SHOWN)

    async def change(self, row_id: str, given: Given) -> str | None:  # noqa: ARG002
        raise _elsewhere(ONLY_SHOWN)

    async def remove(self, row_id: str) -> str | None:  # noqa: ARG002
        raise _elsewhere(ONLY_SHOWN)


class ProviderEditor(Editor):
    """Changes providers and switches them off. A separate form creates providers and shows the secret."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def add(self, given: Given) -> str:  # noqa: ARG002
        """Refuse to add a row, and name the form that adds a provider."""
        raise _elsewhere("To add a provider, use the form New Provider. It shows the secret_key once.")

    async def change(self, row_id: str, given: Given) -> str:
        """Change the columns of a provider that may be changed."""
        members = msgspec.convert(
            {name: value for name, value in given.items() if name in admin.ProviderChanges.__annotations__},
            admin.ProviderChanges,
            strict=False,
        )
        await admin.update_provider(row_id, now=self._services.clock(), **members)
        return row_id

    async def remove(self, row_id: str) -> str:  # noqa: ARG002
        """Refuse, because a provider should be switched off instead."""
        raise _elsewhere(
            "Providers cannot be removed here, because their members and conversations would be removed too."
        )


class Domain(msgspec.Struct, frozen=True):
    """A registered domain and its provider."""

    provider: str
    domain: str


class DomainEditor(Editor):
    """Adds, changes and removes registered domains."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def add(self, given: Given) -> str:
        new = _read(given, Domain)
        await admin.replace_domain(new.provider, None, new.domain, now=self._services.clock())
        return new.provider

    async def change(self, row_id: str, given: Given) -> str:
        old = _read(await _row(Domains, row_id), Domain)
        new = _merged(old, given)
        _same("provider", old.provider, new.provider)
        await admin.replace_domain(old.provider, old.domain, new.domain, now=self._services.clock())
        return old.provider

    async def remove(self, row_id: str) -> str:
        old = _read(await _row(Domains, row_id), Domain)
        await admin.replace_domain(old.provider, old.domain, None, now=self._services.clock())
        return old.provider


class Keys(Quiet, frozen=True, kw_only=True):
    """The keys of an application as they were typed into a form. An empty field is None."""

    client_id: str | None = None
    client_secret: str | None = None
    team_id: str | None = None
    key_id: str | None = None
    p8: str | None = None

    @property
    def application(self) -> Application | None:
        """The application with these keys, or None if all fields are empty."""
        members = {name: getattr(self, name) for name in Application.__struct_fields__}
        if not any(members.values()):
            return None
        return Application(**{**members, "client_id": self.client_id or ""})


class SocialLogin(Keys, frozen=True, kw_only=True):
    """A row of the table of social logins."""

    provider: str
    social: str
    enabled: bool = True
    key_source: Literal["service", "own"] = "service"


class SocialLoginEditor(Editor):
    """Changes the social providers of a business, and the business's own keys."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def add(self, given: Given) -> str:
        new = _read(given, SocialLogin)
        there = (SocialLogins.provider == new.provider) & (SocialLogins.social == new.social)
        async with snapshot():
            if await SocialLogins.exists().where(there):
                raise _invalid("social", f"already exists: {new.provider} has {new.social}; change that row")
        return await self._save(new)

    async def change(self, row_id: str, given: Given) -> str:
        """Change a social login. If the form removes the ids of the keys, delete the business's own keys."""
        old = _read(await _row(SocialLogins, row_id), SocialLogin)
        new = _merged(old, given)
        _same("provider", old.provider, new.provider)
        _same("social", old.social, new.social)
        return await self._save(new)

    async def remove(self, row_id: str) -> str:
        """Remove a social provider from a business. The business's keys for this provider are deleted, too."""
        old = _read(await _row(SocialLogins, row_id), SocialLogin)
        await admin.remove_social(old.provider, old.social, now=self._services.clock())
        return old.provider

    async def _save(self, row: SocialLogin) -> str:
        now, vault, keys = self._services.clock(), self._services.vault, row.application
        async with transaction():
            if keys is None:
                await admin.remove_application(row.provider, row.social, now=now)
            else:
                await admin.change_application(vault, row.provider, row.social, keys, now=now)
            await admin.set_social(
                row.provider,
                row.social,
                now=now,
                enabled=row.enabled,
                key_source=row.key_source,
                offered=self._services.settings.offered_socials,
            )
        return row.provider


class ServiceKey(Keys, frozen=True, kw_only=True):
    """A row of the table of service-owned keys."""

    social: str


class ServiceKeyEditor(Editor):
    """Changes the applications that belong to the service. A change affects every provider."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def add(self, given: Given) -> None:
        new = _read(given, ServiceKey)
        async with snapshot():
            if await ServiceKeys.exists().where(ServiceKeys.social == new.social):
                raise _invalid("social", f"already exists: the service has keys for {new.social}; change that row")
        await self._save(new)

    async def change(self, row_id: str, given: Given) -> None:
        old = _read(await _row(ServiceKeys, row_id), ServiceKey)
        new = _merged(old, given)
        _same("social", old.social, new.social)
        await self._save(new)

    async def remove(self, row_id: str) -> None:
        old = _read(await _row(ServiceKeys, row_id), ServiceKey)
        await admin.remove_application(SERVICE, old.social, now=self._services.clock())

    async def _save(self, row: ServiceKey) -> None:
        await admin.change_application(
            self._services.vault,
            SERVICE,
            row.social,
            row.application or Application(""),
            now=self._services.clock(),
        )


def editors(services: Services) -> dict[str, Editor]:
    """Return the editors by table name. A table without an editor is read-only."""
    return {
        "providers": ProviderEditor(services),
        "domains": DomainEditor(services),
        "social_logins": SocialLoginEditor(services),
        "service_keys": ServiceKeyEditor(services),
    }


async def _row(table: type[Table], row_id: str) -> dict[str, Any]:
    key = table._meta.primary_key  # noqa: SLF001 - Piccolo keeps a table's description in `_meta`
    async with snapshot():
        row = await table.select().where(key == int(row_id)).first() if ROW_ID.fullmatch(row_id) else None
    if row is None:
        raise Refused(Code.NOT_FOUND, "This row no longer exists; go back to the list.")
    return row


def _read(given: Given, kind: type[Row]) -> Row:
    """Convert the values of a form: strip white space from text, and treat empty fields as missing."""
    trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in given.items()}
    return msgspec.convert(
        {name: value for name, value in trimmed.items() if value not in {"", None}}, kind, strict=False
    )


def _merged(old: Row, given: Given) -> Row:
    return _read({**msgspec.structs.asdict(cast("msgspec.Struct", old)), **given}, type(old))


def _same(member: str, old: str, new: str) -> None:
    if old != new:
        raise _invalid(member, "cannot be changed; remove this row and add another")


def _invalid(member: str, reason: str) -> Refused:
    return Refused(Code.PARAMETER_INVALID, f"{member} {reason}.", member=member)


def _elsewhere(words: str) -> Refused:
    return Refused(Code.METHOD_NOT_ALLOWED, words)
