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


@pytest.mark.contract("2.1/secret-stays", "4.1/no-token")
async def test_it_holds_no_token_and_no_secret(client: ServerClient, shop: str) -> None:
    answer = await client.get(PATH)

    for secret in ("the-secret-key", "client-secret", "shop-client", "our-client", "eyJ", "p8"):
        assert secret not in answer.text


@pytest.mark.contract("4.1/edge-cache", "8/edge-60", "D-02/configuration-caching")
async def test_caches_keep_the_configuration_for_60_seconds_and_browsers_revalidate(
    client: ServerClient, shop: str
) -> None:
    answer = await client.get(PATH)

    assert answer.headers["cache-control"] == "public, max-age=0, s-maxage=60"
    assert answer.headers["etag"].startswith('"')


@pytest.mark.contract("D-02/configuration-caching")
@pytest.mark.parametrize("sent", ["{}", "W/{}", '"other", {}', "*"])
async def test_a_known_etag_gets_304(client: ServerClient, shop: str, sent: str) -> None:
    etag = (await client.get(PATH)).headers["etag"]

    answer = await client.get(PATH, headers={"If-None-Match": sent.format(etag)})

    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == etag
    assert answer.headers["cache-control"] == "public, max-age=0, s-maxage=60"
    assert "content-length" not in answer.headers


async def test_another_etag_gets_the_configuration(client: ServerClient, shop: str) -> None:
    answer = await client.get(PATH, headers={"If-None-Match": '"other"'})

    assert answer.status_code == 200
    assert "data" in answer.json()


@pytest.mark.contract("4.1/edge-cache", "D-02/settings-cache")
async def test_changes_of_an_administrator_are_visible_within_60_seconds(client: ServerClient, shop: str) -> None:
    before = await client.get(PATH)
    await admin.set_social(shop, "github", now=client.services.clock(), enabled=False)

    client.services.clock.advance(59)
    kept = await client.get(PATH)
    client.services.clock.advance(1)
    after = await client.get(PATH, headers={"If-None-Match": before.headers["etag"]})

    assert kept.json() == before.json()
    assert after.status_code == 200
    assert after.json()["data"]["auth"] == {"oauth_providers": ["google"]}


async def test_query_parameters_and_a_callback_name_change_nothing(client: ServerClient, shop: str) -> None:
    plain = await client.get(PATH)

    answer = await client.get(f"{PATH}?callback=alert&_method=DELETE&uid=a&uid=b")

    assert answer.content == plain.content
    assert answer.headers["content-type"] == "application/json"
