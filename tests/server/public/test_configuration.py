"""Tests of the configuration endpoint (contract 4.1, 2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_server.storage import admin

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

PATH = "/v1/public/provider/shop"


@pytest.mark.contract("2.2/members", "4.1/content", "1/data")
async def test_it_returns_socket_address_channels_appearance_and_social_providers(
    client: ServerClient, shop: str
) -> None:
    answer = await client.get(PATH)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "data": {
            "socket_uri": "ws://localhost:8800/v1/socket",
            "livechat": {"enabled": True, "title": "Chat with us", "greeting": "Hello! How can we help?"},
            "service": {"enabled": True, "title": "Call us", "greeting": "We answer calls during office hours."},
            "ui": {"colour": "#4f46e5", "position": "right", "locale": ""},
            "auth": {"oauth_providers": ["google", "github"]},
        }
    }


@pytest.mark.contract("4.1/edge-cache", "D-02/settings-cache", "D-02/configuration-caching")
async def test_changes_of_an_administrator_are_visible_within_60_seconds(client: ServerClient, shop: str) -> None:
    before = await client.get(PATH)
    known = {"If-None-Match": before.headers["etag"]}
    await admin.set_social(shop, "github", now=client.services.clock(), enabled=False)

    client.services.clock.advance(59)
    kept = await client.get(PATH, headers=known)
    client.services.clock.advance(1)
    after = await client.get(PATH, headers=known)

    assert (kept.status_code, kept.content) == (304, b"")
    assert "content-length" not in kept.headers
    assert after.status_code == 200
    assert after.json()["data"]["auth"] == {"oauth_providers": ["google"]}
