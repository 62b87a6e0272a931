"""The panel's forms. Two forms show a new `secret_key` once, and a third one erases a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast, get_args

import structlog
from piccolo_admin.endpoints import FormConfig
from pydantic import BaseModel, Field
from starlette.requests import Request

from chatkey_server.chat import erasure
from chatkey_server.chat.erasure import Login, Person
from chatkey_server.clock import moment
from chatkey_server.identity.errors import Refused
from chatkey_server.panel.admin.tables import MEMBER_LOGIN
from chatkey_server.storage import admin

if TYPE_CHECKING:
    from chatkey_server.services import Services

HOUR: Final = 3600
KEEP_IT: Final = "Keep the secret_key on the business's own server, never in a page. It is not shown again."

log = structlog.get_logger("chatkey.admin")


class NewProvider(BaseModel):
    """The fields of a new business that will embed the widget."""

    name: str = ""
    domain: str = Field(default="", title="Registered domain, such as shop.example")
    id: str = Field(default="", title="Provider id (generated if empty)")


class RotateSecret(BaseModel):
    """The provider that gets a new secret."""

    provider: str = Field(title="Provider id")
    overlap: int = Field(default=24, title="Hours for which tokens signed with the old secret stay valid")


class ErasePerson(BaseModel):
    """The person whose data is to be erased."""

    provider: str = Field(title="Provider id")
    login: str = Field(default="custom", title="Login: custom, social or visitor")
    uid: str = Field(title="Uid")
    erase: bool = Field(default=False, title="Erase now (otherwise the form only shows what would be erased)")


def forms(services: Services) -> list[FormConfig]:
    return [_new_provider(services), _rotate_secret(services), _erase_person(services)]


def _new_provider(services: Services) -> FormConfig:
    async def new_provider(request: Request, data: NewProvider) -> str:
        try:
            made = await admin.add_provider(
                services.vault,
                now=services.clock(),
                id=data.id.strip() or None,
                name=data.name.strip() or None,
                domains=[data.domain.strip()] if data.domain.strip() else [],
            )
        except Refused as refused:
            raise ValueError(refused.message) from refused
        services.provider_changed(made.id)
        _note(request, "provider.added", made.id)
        return f"Provider id:\n{made.id}\n\nsecret_key:\n{made.secret_key}\n\n{KEEP_IT}"

    return FormConfig(
        "New Provider",
        NewProvider,
        new_provider,
        description="Adds a business that embeds the widget. Its secret_key is shown once, on the next page.",
        form_group=MEMBER_LOGIN,
    )


def _rotate_secret(services: Services) -> FormConfig:
    async def rotate_secret(request: Request, data: RotateSecret) -> str:
        now, provider_id = services.clock(), data.provider.strip()
        try:
            secret_key = await admin.rotate_secret(
                services.vault, provider_id, now=now, overlap_seconds=data.overlap * HOUR
            )
        except Refused as refused:
            raise ValueError(refused.message) from refused
        services.provider_changed(provider_id)
        _note(request, "secret.rotated", provider_id)
        until = f"is valid until {moment(int(now) + data.overlap * HOUR)}" if data.overlap else "is no longer valid"
        return f"New secret_key:\n{secret_key}\n\n{KEEP_IT}\nThe old one {until}."

    return FormConfig(
        "Rotate Secret",
        RotateSecret,
        rotate_secret,
        description="Gives a provider a new secret_key and shows it once, on the next page. "
        "Tokens signed with the old one stay valid for the given number of hours.",
        form_group=MEMBER_LOGIN,
    )


def _erase_person(services: Services) -> FormConfig:
    async def erase_person(request: Request, data: ErasePerson) -> str:
        if data.login not in get_args(Login):
            raise ValueError(f"Login must be one of {', '.join(get_args(Login))}.")
        person = Person(data.provider.strip(), cast("Login", data.login), data.uid)
        try:
            found = await (erasure.erase(person) if data.erase else erasure.stored(person))
        except Refused as refused:
            raise ValueError(refused.message) from refused
        if data.erase:
            services.hub.publish(*erasure.NEWS)
            _note(request, "person.erased", person.provider)
        remains = "\n".join(f"- {line}" for line in erasure.remains())
        return f"{'Erased' if data.erase else 'Would erase'}: {found}.\n\nWhat remains, and why:\n{remains}"

    return FormConfig(
        "Erase Person",
        ErasePerson,
        erase_person,
        description="Erases the record, conversation, messages and calls of one member or visitor, closes their "
        "sockets, and says what remains. At first it only shows what would be erased.",
    )


def _note(request: Request, what: str, provider_id: str) -> None:
    log.info("admin.changed", admin=request.user.display_name, what=what, provider=provider_id)
