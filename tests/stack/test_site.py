"""Tests of the integrator's site: shops from the control API, sign-in, and the token endpoint for widgets."""

import re
from collections.abc import Iterator

import jwt
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from chatkey_lab.guard import bearer
from chatkey_stack.site.app import Addresses, create_app

SECRET = "a-secret-key-of-at-least-32-bytes-0123"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
NOW = 1_790_000_000
SITE = Addresses(
    "https://shop.localhost:7001", "https://chat.localhost:7002", "https://chat.localhost:7002/assets/sdk.js"
)
LAB_TOKEN = "a-token-of-the-lab-0123456789"
Client = TestClient[Litestar]


@pytest.fixture
def client() -> Iterator[Client]:
    app = create_app(SITE, now=lambda: NOW, lab_token=LAB_TOKEN)
    with TestClient(app, base_url="https://shop.localhost:7001") as client:
        client.headers.update(bearer(LAB_TOKEN))
        yield client


def open_shop(client: Client, slug: str = "alder", **members: object) -> None:
    body = {"slug": slug, "provider_id": "prov_1", "secret_key": SECRET, **members}
    assert client.post("/lab/shops", json=body).status_code == 201


def sign_in(client: Client, slug: str = "alder", person: str = "u-1001") -> None:
    assert client.post(f"/{slug}/login", data={"person": person}, follow_redirects=False).status_code == 303


def ask(client: Client, slug: str = "alder") -> dict[str, str | None]:
    answer = client.post(f"/{slug}/chat/token", json={"jkt": JKT})
    assert answer.status_code == 200
    body: dict[str, str | None] = answer.json()
    return body


@pytest.mark.contract("4.8/config", "4.8/sdk")
def test_the_page_has_the_configuration_and_loads_the_script_asynchronously(client: Client) -> None:
    open_shop(client)

    page = client.get("/alder/").text

    assert 'providerId: "prov_1"' in page
    assert '<script async src="https://chat.localhost:7002/assets/sdk.js"' in page
    assert page.index("ServiceConfig") < page.index("sdk.js")
    assert SECRET not in page


@pytest.mark.contract("4.8/config")
def test_the_configuration_may_come_after_the_script(client: Client) -> None:
    open_shop(client)

    page = client.get("/alder/?config=after").text

    assert page.index("sdk.js") < page.index("ServiceConfig")


def test_a_shop_without_custom_login_offers_neither_gettoken_nor_sign_in(client: Client) -> None:
    open_shop(client, get_token=False)

    page = client.get("/alder/").text

    assert "providerId" in page
    assert "getToken" not in page
    assert 'action="login"' not in page


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


@pytest.mark.contract("4.7/response")
def test_only_a_signed_in_customer_gets_a_token(client: Client) -> None:
    open_shop(client)

    before = ask(client)
    sign_in(client)
    during = ask(client)
    client.post("/alder/logout")
    after = ask(client)

    assert before == after == {"token": None}
    claims = jwt.decode(during["token"] or "", SECRET, algorithms=["HS256"], options={"verify_exp": False})
    assert claims["uid"] == "u-1001"
    assert claims["avatar"] == "https://shop.localhost:7001/people/u-1001.svg"


def test_the_session_cookie_belongs_to_one_shop_and_is_hidden_from_scripts(client: Client) -> None:
    open_shop(client, "alder")
    open_shop(client, "birch")

    answer = client.post("/alder/login", data={"person": "u-1002"}, follow_redirects=False)

    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("sid_alder=")
    assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/alder/"} <= set(cookie.split("; "))
    assert ask(client, "birch") == {"token": None}


def test_the_token_is_not_stored_by_caches(client: Client) -> None:
    open_shop(client)

    assert client.post("/alder/chat/token", json={"jkt": JKT}).headers["cache-control"] == "no-store"


@pytest.mark.contract("4.7/request")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"jkt": 1}', b"\xff"])
def test_a_request_the_widget_would_not_send_is_a_400(client: Client, content: bytes) -> None:
    open_shop(client)

    answer = client.post("/alder/chat/token", content=content)

    assert answer.status_code == 400
    assert "token" not in answer.json()


def test_calls_of_the_token_endpoint_are_counted(client: Client) -> None:
    open_shop(client)

    ask(client)
    ask(client)

    assert client.get("/lab/shops/alder").json() == {
        "data": {"slug": "alder", "provider_id": "prov_1", "token_calls": 2}
    }


def test_tokens_are_issued_by_a_clock_that_the_harness_moves_and_puts_back(client: Client) -> None:
    open_shop(client)
    sign_in(client)

    moved = client.post("/lab/clock", json={"advance": 90}).json()
    token = ask(client)["token"] or ""
    back = client.post("/lab/reset").json()

    assert moved == {"data": {"now": NOW + 90}}
    assert jwt.decode(token, options={"verify_signature": False})["iat"] == NOW + 90
    assert back == {"data": {"now": NOW}}


@pytest.mark.parametrize("slug", ["lab", "static", "people", "../x", "", "A"])
def test_a_slug_that_cannot_be_a_path_is_refused(client: Client, slug: str) -> None:
    answer = client.post("/lab/shops", json={"slug": slug, "provider_id": "p", "secret_key": SECRET})

    assert answer.status_code == 400
    assert f"slug {slug!r} cannot be used" in answer.json()["detail"]
    assert SECRET not in answer.text


@pytest.mark.parametrize("path", ["/alder/", "/lab/shops/alder", "/people/nobody.svg", "/static/../app.py"])
def test_unknown_pages_are_404(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_closed_shop_is_404(client: Client) -> None:
    open_shop(client)

    client.delete("/lab/shops/alder")

    assert client.get("/alder/").status_code == 404


def test_people_have_portraits(client: Client) -> None:
    answer = client.get("/people/u-1001.svg")

    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert ">A</text>" in answer.text


def test_a_page_of_a_tests_own_stands_beside_the_shops_until_it_closes(client: Client) -> None:
    shop = {"slug": "alder", "provider_id": "prov_1", "secret_key": SECRET}
    client.post("/lab/shops", json=shop)

    made = client.post("/lab/shops/alder/pages", json={"name": "mine", "html": "<h1>Mine</h1>"})
    shown, other = client.get(made.json()["data"]["path"]), client.get("/alder/theirs")
    client.delete("/lab/shops/alder")

    assert (shown.status_code, shown.text, shown.headers["content-type"]) == (
        200,
        "<h1>Mine</h1>",
        "text/html; charset=utf-8",
    )
    assert (other.status_code, client.get("/alder/mine").status_code) == (404, 404)


def test_a_page_that_a_test_adds_has_its_own_headers(client: Client) -> None:
    open_shop(client)
    headers = {"Content-Security-Policy": "default-src 'self'", "content-type": "application/xhtml+xml"}
    client.post("/lab/shops/alder/pages", json={"name": "mine", "html": "<h1>Mine</h1>", "headers": headers})

    answer = client.get("/alder/mine")

    assert answer.headers["content-security-policy"] == "default-src 'self'"
    assert answer.headers.get_list("content-type") == ["application/xhtml+xml"]


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
