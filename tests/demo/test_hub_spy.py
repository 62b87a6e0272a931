"""Tests of the script that reports a shop's widget to the hub. A shop loads this script only at the demo's request."""

from collections.abc import Iterator

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from chatkey_lab.guard import bearer
from chatkey_stack.site.app import Addresses, create_app

LAB_TOKEN = "a-token-of-the-lab-0123456789"
Client = TestClient[Litestar]

HUB = "http://localhost:8800"
SHOP = {"slug": "alder", "provider_id": "prov_1", "secret_key": "a-secret-key-of-at-least-32-bytes-0123"}


@pytest.fixture
def client() -> Iterator[Client]:
    addresses = Addresses("http://localhost:8811", "http://localhost:8801", "/sdk.js")
    with TestClient(create_app(addresses, lab_token=LAB_TOKEN)) as client:
        client.headers.update(bearer(LAB_TOKEN))
        yield client


def page(client: Client, **members: str) -> str:
    assert client.post("/lab/shops", json={**SHOP, **members}).status_code == 201
    return client.get("/alder/").text


def test_a_watched_shop_loads_the_script_and_names_the_hub_to_it(client: Client) -> None:
    shown = page(client, spy=HUB)

    assert f'src="/static/spy.js" data-hub="{HUB}"' in shown
    assert client.get("/static/spy.js").status_code == 200


def test_a_shop_that_is_not_watched_does_not_load_the_script(client: Client) -> None:
    assert "spy" not in page(client)


def test_the_script_exchanges_messages_with_the_hubs_origin_only(client: Client) -> None:
    script = client.get("/static/spy.js").text

    assert script.count("postMessage(") == 1
    assert "debug: { ...debug(), ...shown } }, hub)" in script
    assert "origin === hub && source === parent" in script
