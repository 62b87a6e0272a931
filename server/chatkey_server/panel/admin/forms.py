"""The panel's forms: what hands out a `secret_key`, which is shown once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog
from piccolo_admin.endpoints import FormConfig
from pydantic import BaseModel, Field
from starlette.requests import Request

from chatkey_server.clock import moment
from chatkey_server.identity.errors import Refused
from chatkey_server.panel.admin.tables import MEMBER_LOGIN
from chatkey_server.storage import admin

if TYPE_CHECKING:
    from chatkey_server.services import Services

HOUR: Final = 3600
KEEP_IT: Final = "Keep it on the business's own server, never in a page. It is not shown again."

log = structlog.get_logger("chatkey.admin")


class NewProvider(BaseModel):
    """A business that is to embed the widget."""

    name: str = ""
    domain: str = Field(default="", title="Registered domain, such as shop.example")
    id: str = Field(default="", title="Provider id (made up when empty)")


class RotateSecret(BaseModel):
    """The provider whose secret is to be replaced."""

    provider: str = Field(title="Provider id")
    overlap: int = Field(default=24, title="Hours for which tokens made with the old secret still count")


def forms(services: Services) -> list[FormConfig]:
    """Return the forms of the panel, each of which changes what `services` hold."""
    return [_new_provider(services), _rotate_secret(services)]


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
        description="Adds a business that embeds the widget. Its secret_key is shown on the next page, once.",
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
        until = f"counts until {moment(int(now) + data.overlap * HOUR)}" if data.overlap else "has stopped to count"
        return f"New secret_key:\n{secret_key}\n\n{KEEP_IT}\nThe old one {until}."

    return FormConfig(
        "Rotate Secret",
        RotateSecret,
        rotate_secret,
        description="Gives a provider a new secret_key, shown on the next page, once. "
        "Tokens made with the old one count for the hours you say.",
        form_group=MEMBER_LOGIN,
    )


def _note(request: Request, what: str, provider_id: str) -> None:
    log.info("admin.changed", admin=request.user.display_name, what=what, provider=provider_id)
