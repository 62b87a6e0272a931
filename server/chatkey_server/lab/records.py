"""The lab's access to stored data: creates providers, applications, agents and administrators, and lists members."""

from collections.abc import Sequence
from typing import Annotated, Literal, cast

import msgspec
from litestar import delete, get, patch, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET, UnsetType

from chatkey_server.chat.desk import NO_NUL
from chatkey_server.lab.envelope import Data
from chatkey_server.services import Services
from chatkey_server.storage import accounts, admin, agents
from chatkey_server.storage.engine import snapshot, transaction
from chatkey_server.storage.providers import SERVICE, Application
from chatkey_server.storage.tables import Administrator, ChatCustomer


class Social(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A social login of a business. If keys are given, they are the business's own keys."""

    key_source: Literal["service", "own"] = "service"
    enabled: bool = True
    client_id: str | None = None
    client_secret: str | None = None
    team_id: str | None = None
    key_id: str | None = None
    p8: str | None = None


class Changes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of a provider that a test sets. Fields left out stay unchanged, or have the default."""

    name: str | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    restrict_socket_origins: bool | UnsetType = UNSET
    livechat_enabled: bool | UnsetType = UNSET
    livechat_title: str | UnsetType = UNSET
    livechat_greeting: str | UnsetType = UNSET
    service_enabled: bool | UnsetType = UNSET
    service_title: str | UnsetType = UNSET
    service_greeting: str | UnsetType = UNSET
    ui_colour: str | UnsetType = UNSET
    ui_position: str | UnsetType = UNSET
    ui_locale: str | UnsetType = UNSET
    domains: list[str] | UnsetType = UNSET
    socials: dict[str, Social] = {}


class Creation(Changes, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A provider to create. Without an id, the provider gets a unique one."""

    id: str | None = None
    secret_key: str | None = None


class Created(msgspec.Struct, frozen=True):
    """A provider that was just created, and its secret."""

    id: str
    secret_key: str


class ServiceApplication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The service-owned keys of one social provider."""

    social: str
    client_id: str
    client_secret: str | None = None
    team_id: str | None = None
    key_id: str | None = None
    p8: str | None = None


class Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An account of the agent panel or the admin panel."""

    username: str
    password: str


class AgentAccount(Account, frozen=True, forbid_unknown_fields=True):
    """An agent who answers for these providers, or for all."""

    providers: list[str] | None = None


class Name(msgspec.Struct, frozen=True):
    """The id of an object that was created, changed or removed."""

    id: str


class Member(msgspec.Struct, frozen=True):
    """A member record (contract 2.7)."""

    provider: str
    login: str
    uid: str
    auth_provider: str | None
    name: str | None
    email: str | None
    avatar: str | None
    created_at: int
    updated_at: int


def handlers(services: Services) -> Sequence[HTTPRouteHandler]:
    """Return the handlers of /lab/providers, /lab/applications, /lab/agents, /lab/administrators and /lab/members."""
    return [*_providers(services), _applications(services), *_accounts(), _members()]


def _providers(services: Services) -> Sequence[HTTPRouteHandler]:
    @post("/providers")
    async def add_provider(data: JSONBody[Creation]) -> Data[Created]:
        now = services.clock()
        async with transaction():
            made = await admin.add_provider(services.vault, now=now, id=data.id, secret_key=data.secret_key)
            await _change(services, made.id, data)
        services.provider_changed(made.id)
        return Data(Created(made.id, made.secret_key))

    @patch("/providers/{provider_id:str}")
    async def change_provider(provider_id: FromPath[str], data: JSONBody[Changes]) -> Data[Name]:
        async with transaction():
            await _change(services, provider_id, data)
        return Data(Name(provider_id))

    @delete("/providers/{provider_id:str}", status_code=200)
    async def remove_provider(provider_id: FromPath[str]) -> Data[Name]:
        await admin.remove_provider(provider_id, now=services.clock())
        return Data(Name(provider_id))

    return [add_provider, change_provider, remove_provider]


async def _change(services: Services, provider_id: str, changes: Changes) -> None:
    """Change a provider as its administrator would. Cached copies stay in use for up to 60 s (contract 4.1)."""
    now = services.clock()
    given = {name: value for name, value in msgspec.structs.asdict(changes).items() if value is not UNSET}
    columns = {name: value for name, value in given.items() if name in admin.ProviderChanges.__annotations__}
    if columns:
        await admin.update_provider(provider_id, now=now, **cast("admin.ProviderChanges", columns))
    if changes.domains is not UNSET:
        await admin.set_domains(provider_id, changes.domains, now=now)
    for social, login in changes.socials.items():
        if login.client_id or login.client_secret:
            await admin.set_application(services.vault, provider_id, social, _keys(login), now=now)
        await admin.set_social(
            provider_id,
            social,
            now=now,
            enabled=login.enabled,
            key_source=login.key_source,
            offered=services.settings.offered_socials,
        )


def _keys(given: Social | ServiceApplication) -> Application:
    return Application(given.client_id or "", given.client_secret, given.team_id, given.key_id, given.p8)


def _applications(services: Services) -> HTTPRouteHandler:
    @post("/applications")
    async def set_application(data: JSONBody[ServiceApplication]) -> Data[Name]:
        await admin.set_application(services.vault, SERVICE, data.social, _keys(data), now=services.clock())
        return Data(Name(data.social))

    return set_application


def _accounts() -> Sequence[HTTPRouteHandler]:
    @post("/agents")
    async def add_agent(data: JSONBody[AgentAccount]) -> Data[Name]:
        await agents.add_agent(data.username, data.password, data.providers)
        return Data(Name(data.username))

    @post("/administrators")
    async def add_administrator(data: JSONBody[Account]) -> Data[Name]:
        await accounts.add(Administrator, data.username, data.password)
        return Data(Name(data.username))

    return [add_agent, add_administrator]


def _members() -> HTTPRouteHandler:
    @get("/members")
    async def members(provider: Annotated[str, QueryParameter(pattern=NO_NUL)]) -> Data[list[Member]]:
        async with snapshot():
            rows = await ChatCustomer.objects().where(ChatCustomer.provider == provider).order_by(ChatCustomer.uid)
        return Data([msgspec.convert(row, Member, from_attributes=True) for row in rows])

    return members
