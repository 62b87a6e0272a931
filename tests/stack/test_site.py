"""Tests of the integrator's site that no scenario reaches: headers, escapes, and what its lab refuses."""

import re
from collections.abc import Iterator

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from chatkey_lab.guard import bearer
from chatkey_stack.site.app import Addresses, create_app

SECRET = "a-secret-key-of-at-least-32-bytes-0123"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
SITE = Addresses(
    "https://shop.localhost:7001", "https://chat.localhost:7002", "https://chat.localhost:7002/assets/sdk.js"
)
LAB_TOKEN = "a-token-of-the-lab-0123456789"
Client = TestClient[Litestar]


@pytest.fixture
def client() -> Iterator[Client]:
    app = create_app(SITE, lab_token=LAB_TOKEN)
    with TestClient(app, base_url="https://shop.localhost:7001") as client:
        client.headers.update(bearer(LAB_TOKEN))
        yield client


def open_shop(client: Client, slug: str = "alder", **members: object) -> None:
    body = {"slug": slug, "provider_id": "prov_1", "secret_key": SECRET, **members}
    assert client.post("/lab/shops", json=body).status_code == 201


def test_the_strict_policy_names_the_nonce_of_every_script(client: Client) -> None:
    open_shop(client)

    answer = client.get("/alder/?csp=strict")

    policy = answer.headers["content-security-policy"]
    nonce = re.search(r"'nonce-([^']+)'", policy)
    assert nonce
    assert len(re.findall(rf'<script [^>]*nonce="{re.escape(nonce[1])}"', answer.text)) == 3
    assert "unsafe-inline" not in policy
    assert "connect-src 'self' https://chat.localhost:7002 wss://chat.localhost:7002" in policy


def test_a_title_cannot_break_out_of_the_page(client: Client) -> None:
    open_shop(client, title="</title><script>alert(1)</script>")

    assert "<script>alert" not in client.get("/alder/").text


def test_the_session_cookie_belongs_to_one_shop_and_is_hidden_from_scripts(client: Client) -> None:
    open_shop(client, "alder")
    open_shop(client, "birch")

    answer = client.post("/alder/login", data={"person": "u-1002"}, follow_redirects=False)

    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("sid_alder=")
    assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/alder/"} <= set(cookie.split("; "))
    assert client.post("/birch/chat/token", json={"jkt": JKT}).json() == {"token": None}


@pytest.mark.parametrize("slug", ["lab", "static", "people", "../x", "", "A"])
def test_a_slug_that_cannot_be_a_path_is_refused(client: Client, slug: str) -> None:
    answer = client.post("/lab/shops", json={"slug": slug, "provider_id": "p", "secret_key": SECRET})

    assert answer.status_code == 400
    assert f"slug {slug!r} cannot be used" in answer.json()["detail"]
    assert SECRET not in answer.text


@pytest.mark.parametrize("path", ["/alder/", "/lab/shops/alder", "/people/nobody.svg", "/static/../app.py"])
def test_unknown_pages_are_404(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("X House", "1", "the name of the header 'X House' cannot be used"),
        ("X-House", "1\r\nSet-Cookie: a=b", "the value of the header 'X-House' cannot be used"),
    ],
)
def test_a_header_that_http_does_not_allow_is_refused(client: Client, name: str, value: str, fault: str) -> None:
    open_shop(client)

    answer = client.post("/lab/shops/alder/pages", json={"name": "mine", "html": "", "headers": {name: value}})

    assert answer.status_code == 400
    assert fault in answer.json()["detail"]


def test_the_script_that_watches_a_shop_is_loaded_on_request_and_speaks_to_the_hubs_origin_only(client: Client) -> None:
    hub = "http://localhost:8800"
    open_shop(client, "alder")
    open_shop(client, "birch", spy=hub)

    script = client.get("/static/spy.js").text

    assert f'src="/static/spy.js" data-hub="{hub}"' in client.get("/birch/").text
    assert "spy" not in client.get("/alder/").text
    assert script.count("postMessage(") == 1
    assert "debug: { ...debug(), ...shown } }, hub)" in script
    assert "origin === hub && source === parent" in script
