"""A business with social login."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_server.storage import admin
from chatkey_server.storage.providers import Application

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

SHOP = "shop"
SECRET = "the-secret-key-of-the-shop-0123456789abcdef"


@pytest.fixture
async def shop(client: ServerClient) -> str:
    """A provider `shop`: Google has its own keys, GitHub has the service's keys, Discord is disabled."""
    now, vault = client.services.clock(), client.services.vault
    await admin.add_provider(vault, now=now, id=SHOP, secret_key=SECRET, domains=["shop.example"])
    await admin.set_application(vault, SHOP, "google", Application("shop-client", "shop-client-secret"), now=now)
    for social in ("github", "discord"):
        await admin.set_application(vault, "service", social, Application("our-client", "our-client-secret"), now=now)
    await admin.set_social(SHOP, "google", now=now, key_source="own")
    await admin.set_social(SHOP, "github", now=now)
    await admin.set_social(SHOP, "discord", now=now, enabled=False)
    return SHOP
