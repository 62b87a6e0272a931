"""Fixtures: a business with social login, and the values that a member's browser would send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_server.identity.social_uid import SocialUid
from chatkey_server.identity.tokens import Profile, Secrets, mint_identity
from chatkey_server.storage import admin
from chatkey_server.storage.providers import Application

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.in_process import ServerClient

    from chatkey_server.clock import Clock

SHOP = "shop"
SECRET = "the-secret-key-of-the-shop-0123456789abcdef"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


@pytest.fixture
async def shop(client: ServerClient) -> str:
    """A provider `shop`: Google has its own keys, GitHub has the service's keys, Discord is disabled."""
    now, vault = client.services.clock(), client.services.vault
    await admin.add_provider(vault, now=now, id=SHOP, secret_key=SECRET, domains=["shop.example"])
    await admin.set_application(vault, SHOP, "google", Application("shop-client", "shop-client-secret"), now=now)
    await admin.set_application(vault, "service", "github", Application("our-client", "our-client-secret"), now=now)
    await admin.set_application(vault, "service", "discord", Application("our-client", "our-client-secret"), now=now)
    await admin.set_social(SHOP, "google", now=now, key_source="own")
    await admin.set_social(SHOP, "github", now=now)
    await admin.set_social(SHOP, "discord", now=now, enabled=False)
    return SHOP


@pytest.fixture
def jkt() -> str:
    return JKT


@pytest.fixture
def make_identity_token(clock: Clock) -> Callable[..., str]:
    """Make an identity token like the one that the callback of a social login passes to the widget."""

    def make(social: str = "google", *, jkt: str | None = JKT, pid: str = SHOP, secret: str = SECRET) -> str:
        profile = Profile(name="Ada Lovelace", email="ada@example.com", avatar="https://people.example/ada.png")
        secrets = Secrets(secret.encode())
        return mint_identity(secrets, pid=pid, uid=SocialUid(social, "42"), profile=profile, jkt=jkt, now=clock())

    return make
