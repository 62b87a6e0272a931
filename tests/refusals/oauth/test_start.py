"""Tests of the login start endpoint: which pages may use it, and its redirect (contract 4.4, D-03, D-08)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from chatkey_stack.applications import Application
from chatkey_stack.lab import SocialKeys

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop
    from tests.refusals.oauth.sign_in import MakeSignIn

    UnderWay = Callable[[Shop], int]

ORIGIN = "https://shop.example"
STATE_SECONDS = 600
MOST_UNDER_WAY = 100_000


def start(service: Service, shop: Shop, origin: str = ORIGIN, social: str = "google") -> httpx.Response:
    """Request the login start endpoint, with the origin in the query exactly as given."""
    return service.http.get(f"{shop.path}/oauth/{social}?{urlencode({'origin': origin})}")


def refused(service: Service, answer: httpx.Response, status: int, code: str) -> None:
    """Assert that the popup page shows this code and posts no message to the opener."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert f"<code>{code}</code>" in answer.text
    assert "postMessage" not in answer.text
    assert "location" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    facts = service.heard("oauth.refused")["facts"]
    assert (facts["at"], facts["code"]) == ("start", code)


# which pages may start a login


def test_an_origin_that_is_not_registered_is_told_nothing_and_leaves_no_record(
    service: Service, shop: Shop, under_way: UnderWay
) -> None:
    """F177: the popup must show a page. It must not redirect to the provider, and must not post to the opener."""
    assert start(service, shop).status_code == 302
    before = under_way(shop)

    answer = start(service, shop, "https://evil.test")

    refused(service, answer, 403, "origin_not_allowed")
    assert "is not a registered domain of this chat" in answer.text
    assert under_way(shop) == before


@pytest.mark.row("OAS-003", "OAS-036")
@pytest.mark.contract("D-08/literal")
def test_a_domain_is_registered_as_browsers_write_its_origin(service: Service, sign_in: MakeSignIn) -> None:
    shop = service.shop(domains=["SHOP.Example:443"])

    refused(service, start(service, shop, "https://SHOP.Example:443"), 403, "origin_not_allowed")
    page = sign_in(shop=shop, origin=ORIGIN).finish()

    assert page.delivery is not None
    assert page.delivery["origin"] == ORIGIN


@pytest.mark.row("OAS-036")
def test_an_error_goes_to_the_registered_origin_too(service: Service) -> None:
    shop = service.shop(socials={})

    answer = start(service, shop)

    assert answer.status_code == 404
    assert f'"origin": "{ORIGIN}"' in answer.text


# which social login


@pytest.mark.parametrize(
    ("social", "code"),
    [
        pytest.param("myspace", "social_unknown", id="OAS-040-unknown"),
        pytest.param("GOOGLE", "social_unknown", id="OAS-040-shouted"),
        pytest.param("goo.gle", "social_unknown", id="OAS-040-dotted"),
        pytest.param("github", "social_disabled", id="OAS-040-disabled"),
        pytest.param("gitlab", "social_disabled", id="OAS-040-switched-off"),
        *(
            pytest.param(social, "social_unknown", id=f"OAS-041-{social}")
            for social in ("apple", "x", "tiktok", "amazon")
        ),
    ],
)
def test_a_social_login_that_is_not_offered_is_404_and_the_opener_is_told(
    service: Service, under_way: UnderWay, social: str, code: str
) -> None:
    keys = Application("", "shop-client", "shop-client-secret")
    on, off = SocialKeys("own", keys), SocialKeys("own", keys, enabled=False)
    shop = service.shop(socials={"google": on, "gitlab": off})
    assert start(service, shop).status_code == 302

    answer = start(service, shop, social=social)

    assert answer.status_code == 404
    assert f"<code>{code}</code>" in answer.text
    assert f'"code": "{code}"' in answer.text
    assert under_way(shop) == 1


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param("", id="OAS-040-empty"),
        pytest.param("google/", id="OAS-040-slash"),
        pytest.param("goo%67le", id="OAS-040-encoded"),
        pytest.param("google%2Fcallback", id="OAS-042-callback"),
        pytest.param("..%2Fcallback", id="OAS-042-up"),
        pytest.param("google/callback", id="OAS-042-slash"),
    ],
)
def test_another_spelling_of_the_path_is_404(service: Service, shop: Shop, rest: str) -> None:
    path = f"{shop.path}/oauth/{rest}?{urlencode({'origin': ORIGIN})}"

    answer = service.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404 ")
    assert b'"code":"not_found"' in body
    assert start(service, shop).status_code == 302


# how many logins are kept


@pytest.mark.row("OAS-048")
def test_expired_logins_are_deleted(service: Service, shop: Shop, under_way: UnderWay) -> None:
    for _ in range(3):
        start(service, shop)
    assert under_way(shop) >= 3

    service.advance(STATE_SECONDS)
    start(service, shop)

    assert under_way(shop) == 1


@pytest.mark.row("OAS-048")
def test_the_number_of_logins_under_way_is_limited_and_the_page_says_when_to_retry(
    service: Service, shop: Shop, sign_in: MakeSignIn
) -> None:
    on_the_way = sign_in()
    made_at = int(service.now()) - 500
    rows = [(f"filled-{n}", "flood", "google", "v", "n", made_at) for n in range(MOST_UNDER_WAY)]
    path = Path(service.environ["CHATKEY_DATA_DIR"]) / "chatkey.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        columns = "id, provider, social, verifier, oidc_nonce, created_at"
        database.executemany(f"INSERT INTO oauth_flow ({columns}) VALUES (?, ?, ?, ?, ?, ?)", rows)

    answer = start(service, shop)

    assert answer.status_code == 429
    assert "<code>rate_limited</code>" in answer.text
    assert 0 < int(answer.headers["retry-after"]) <= 101
    assert on_the_way.finish().status == 200
    service.advance(int(answer.headers["retry-after"]))
    assert start(service, shop).status_code == 302


@pytest.mark.row("OAS-049")
def test_a_head_request_starts_no_login(service: Service, under_way: UnderWay) -> None:
    shop = service.shop()

    answer = service.http.head(f"{shop.path}/oauth/google", params={"origin": ORIGIN})

    assert (answer.status_code, answer.content) == (302, b"")
    assert under_way(shop) == 0
    start(service, shop)
    assert under_way(shop) == 1


@pytest.mark.row("OAS-049")
def test_a_prefetched_start_does_not_disturb_the_login(service: Service, shop: Shop, sign_in: MakeSignIn) -> None:
    login = sign_in()
    prefetch = {"Sec-Purpose": "prefetch", "Purpose": "prefetch"}

    answer = service.http.get(f"{shop.path}/oauth/google", params={"origin": ORIGIN}, headers=prefetch)

    assert answer.status_code == 302
    assert login.finish().status == 200
