"""The start of a social login: which pages may start it, and where it sends the person (contract 4.4, D-03, D-08)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx
import pytest

from chatkey_stack.applications import Application
from chatkey_stack.lab import SocialKeys

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop
    from tests.refusals.oauth.sign_in import MakeSignIn

    UnderWay = Callable[[Shop], int]

ORIGIN = "https://shop.example"
STATE_SECONDS = 600
MOST_UNDER_WAY = 100_000


def start(service: Service, shop: Shop, origin: str = ORIGIN, social: str = "google") -> httpx.Response:
    """Request the start of a login, with the origin in the query exactly as given."""
    return service.http.get(f"{shop.path}/oauth/{social}?{urlencode({'origin': origin})}")


def refused(service: Service, answer: httpx.Response, status: int, code: str) -> None:
    """Assert that a page shows this code to the person, and that no message is posted to any opener."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert f"<code>{code}</code>" in answer.text
    assert "postMessage" not in answer.text
    assert "location" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    facts = service.heard("oauth.refused")["facts"]
    assert (facts["at"], facts["code"]) == ("start", code)


# which pages may start a login


@pytest.mark.parametrize(
    "origin",
    [
        pytest.param("HTTPS://SHOP.EXAMPLE", id="OAS-003-shouted"),
        pytest.param("https://SHOP.example", id="OAS-003-host"),
        pytest.param("https://shop.example:443", id="OAS-004"),
        pytest.param("https://shop.example:8443", id="OAS-005"),
        pytest.param("http://shop.example", id="OAS-006"),
        pytest.param("https://sub.shop.example", id="OAS-007-sub"),
        pytest.param("https://www.shop.example", id="OAS-007-www"),
        pytest.param("https://shop.example.evil.test", id="OAS-008"),
        pytest.param("https://evilshop.example", id="OAS-009-glued"),
        pytest.param("https://evil-shop.example", id="OAS-009-hyphen"),
        pytest.param("https://shop.example@evil.test", id="OAS-010"),
        pytest.param("https://shop.example:443@evil.test", id="OAS-010-port"),
        pytest.param("https://user:pw@shop.example", id="OAS-011"),
        pytest.param("https://shop.example\\@evil.test", id="OAS-013"),
        pytest.param("https:shop.example", id="OAS-015-no-slashes"),
        pytest.param("https:///shop.example", id="OAS-015-three-slashes"),
        pytest.param("https:\\\\shop.example", id="OAS-015-backslashes"),
        pytest.param("https://shop.example/", id="F177-slash"),
        pytest.param("https://shop.example/checkout", id="F177-path"),
        pytest.param("shop.example", id="OAS-016-host"),
        pytest.param("//shop.example", id="OAS-016-relative"),
        pytest.param("*", id="OAS-018-star"),
        pytest.param("/", id="OAS-018-slash"),
        pytest.param("null", id="OAS-018-null"),
        pytest.param("javascript:alert(1)//https://shop.example", id="OAS-022-javascript"),
        pytest.param("data:text/html,https://shop.example", id="OAS-022-data"),
        pytest.param("file:///", id="OAS-022-file"),
        pytest.param("about:blank", id="OAS-022-about"),
        pytest.param("blob:https://shop.example/x", id="OAS-022-blob"),
        pytest.param("chrome-extension://shop.example", id="OAS-022-extension"),
        pytest.param("https://shop.example.", id="OAS-023-dot"),
        pytest.param("https://shop.example..", id="OAS-023-dots"),
        pytest.param("https://shop.example\r\nX-Injected: 1", id="OAS-025"),
        pytest.param("https://shop.example\r\nSet-Cookie: a=1\r\n\r\n<h1>", id="OAS-025-body"),
        pytest.param("https://\uff33\uff28\uff2f\uff30.example", id="OAS-028-full-width"),
        pytest.param("https://shop\u3002example", id="OAS-028-ideographic-dot"),
        pytest.param("https://shop%2eexample", id="OAS-028-encoded-dot"),
        pytest.param("https://127.1", id="OAS-030-short"),
        pytest.param("https://0x7f.1", id="OAS-030-hex"),
        pytest.param("https://2130706433", id="OAS-030-decimal"),
        pytest.param("https://[::1]", id="OAS-030-v6"),
        pytest.param("https://localhost", id="OAS-030-name"),
        pytest.param("https://shop.example,https://evil.test", id="OAS-032-comma"),
        pytest.param("https://shop.example https://evil.test", id="OAS-032-space"),
        pytest.param("wss://shop.example", id="OAS-034-wss"),
        pytest.param("ftp://shop.example", id="OAS-034-ftp"),
        pytest.param("view-source:https://shop.example", id="OAS-034-view-source"),
    ],
)
def test_an_origin_that_is_not_the_registered_text_is_403_and_nobody_is_told(
    service: Service, shop: Shop, under_way: UnderWay, origin: str
) -> None:
    """F177: the person sees a page. There is no redirect to the provider and no message to the opener."""
    assert start(service, shop).status_code == 302
    before = under_way(shop)

    answer = start(service, shop, origin)

    refused(service, answer, 403, "origin_not_allowed")
    assert "x-injected" not in answer.headers
    assert "is not a registered domain of this chat" in answer.text
    assert under_way(shop) == before


@pytest.mark.row("OAS-003", "OAS-036")
def test_a_domain_is_registered_as_browsers_write_its_origin_and_answers_go_there(
    service: Service, sign_in: MakeSignIn
) -> None:
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


@pytest.mark.row("OAS-007")
def test_a_subdomain_may_be_registered_of_its_own(service: Service) -> None:
    shop = service.shop(domains=["shop.example", "www.shop.example", "shop.example:8443"])

    for origin in (ORIGIN, "https://www.shop.example", "https://shop.example:8443"):
        assert start(service, shop, origin).status_code == 302


@pytest.mark.row("OAS-007")
def test_there_are_no_wildcards(service: Service) -> None:
    answer = service.http.post("/lab/providers", json={"domains": ["*.shop.example"]})

    assert answer.status_code == 400
    assert "no wildcards" in answer.json()["error"]["message"]


@pytest.mark.row("OAS-019")
@pytest.mark.parametrize("query", ["", "origin=", "origin=%20%09", "Origin=https://shop.example"])
def test_without_an_origin_it_is_400(service: Service, shop: Shop, query: str) -> None:
    answer = service.http.get(f"{shop.path}/oauth/google?{query}")

    refused(service, answer, 400, "parameter_missing")
    assert start(service, shop).status_code == 302


@pytest.mark.row("OAS-027")
def test_an_international_name_is_known_by_its_punycode(service: Service, sign_in: MakeSignIn) -> None:
    """F177: browsers send the punycode form, and no other form is accepted."""
    shop = service.shop(domains=["bücher.example"])

    page = sign_in(shop=shop, origin="https://xn--bcher-kva.example").finish()

    assert page.status == 200
    assert page.delivery is not None
    assert page.delivery["origin"] == "https://xn--bcher-kva.example"
    refused(service, start(service, shop, "https://bücher.example"), 403, "origin_not_allowed")


@pytest.mark.row("OAS-030", "OAS-035")
def test_a_loopback_name_is_allowed_as_it_is_registered_with_http_and_in_no_other_spelling(service: Service) -> None:
    shop = service.shop(domains=["127.0.0.1:8801", "[::1]:8801", "localhost:8801"])

    for host in ("127.0.0.1:8801", "[::1]:8801", "localhost:8801"):
        for scheme in ("http", "https"):
            assert start(service, shop, f"{scheme}://{host}").status_code == 302
    for host in ("127.1:8801", "0x7f.1:8801", "2130706433:8801", "[0:0:0:0:0:0:0:1]:8801", "localhost:8802"):
        refused(service, start(service, shop, f"http://{host}"), 403, "origin_not_allowed")


@pytest.mark.row("OAS-035")
def test_plain_http_is_registered_for_loopback_names_only(service: Service) -> None:
    shop = service.shop(domains=["192.168.1.20:8801"])

    assert start(service, shop, "https://192.168.1.20:8801").status_code == 302
    refused(service, start(service, shop, "http://192.168.1.20:8801"), 403, "origin_not_allowed")


@pytest.mark.row("OAS-033")
@pytest.mark.parametrize("size", [301, 10_000, 16_000])
def test_an_origin_longer_than_any_is_400(service: Service, shop: Shop, size: int) -> None:
    answer = start(service, shop, ORIGIN + "x" * (size - len(ORIGIN)))

    refused(service, answer, 400, "parameter_invalid")
    assert f"{size} characters" in answer.text
    assert start(service, shop).status_code == 302


@pytest.mark.row("OAS-033")
def test_an_origin_that_fills_the_address_is_400(service: Service, shop: Shop) -> None:
    refused(service, start(service, shop, "x" * 20_000), 400, "parameter_invalid")
    line = f"GET {shop.path}/oauth/google?origin={'x' * 100_000} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert service.raw(line.encode()).startswith(b"HTTP/1.1 400 ")


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


@pytest.mark.row("OAS-043")
def test_an_unknown_business_is_404_like_a_login_that_is_not_offered(service: Service, shop: Shop) -> None:
    answer = service.http.get("/v1/public/provider/nobody/oauth/google", params={"origin": ORIGIN})

    refused(service, answer, 404, "provider_unknown")
    assert start(service, shop, social="gitlab").status_code == 404
    assert start(service, shop).status_code == 302


# where the person is sent


@pytest.mark.row("OAS-045")
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.test"},
        {"X-Forwarded-Host": "evil.test", "X-Forwarded-Proto": "https"},
        {"Forwarded": "host=evil.test;proto=https"},
        {"X-Original-URL": "https://evil.test/"},
    ],
    ids=lambda headers: next(iter(headers)),
)
def test_whatever_host_is_claimed_the_redirect_uri_is_the_configured_one(
    service: Service, shop: Shop, headers: dict[str, str]
) -> None:
    path = f"{shop.path}/oauth/google"

    answer = service.http.get(path, params={"origin": ORIGIN}, headers=headers)

    sent = parse_qs(urlsplit(answer.headers["location"]).query)
    assert sent["redirect_uri"] == [f"{service.base_url}/v1/public/oauth/google/callback"]
    assert "evil" not in answer.headers["location"]


@pytest.mark.row("OAS-046")
def test_it_asks_for_a_code_with_everything_that_binds_it(service: Service, shop: Shop) -> None:
    first, second = (dict(parse_qsl(urlsplit(start(service, shop).headers["location"]).query)) for _ in range(2))

    fixed = {name: value for name, value in first.items() if second[name] == value}
    assert fixed == {
        "response_type": "code",
        "client_id": "shop-client",
        "redirect_uri": f"{service.base_url}/v1/public/oauth/google/callback",
        "scope": "openid email profile",
        "code_challenge_method": "S256",
    }
    assert first.keys() - fixed.keys() == {"state", "code_challenge", "nonce"}
    assert len(first["code_challenge"]) == 43
    assert "secret" not in str(first)


@pytest.mark.row("OAS-047")
def test_the_redirect_is_a_302_that_nothing_keeps_and_that_names_no_referrer(service: Service, shop: Shop) -> None:
    answer = start(service, shop)

    assert (answer.status_code, answer.content) == (302, b"")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in answer.headers


# how many logins are kept


@pytest.mark.row("OAS-048")
def test_logins_whose_time_is_over_are_forgotten(service: Service, shop: Shop, under_way: UnderWay) -> None:
    for _ in range(3):
        start(service, shop)
    assert under_way(shop) >= 3

    service.advance(STATE_SECONDS)
    start(service, shop)

    assert under_way(shop) == 1


@pytest.mark.row("OAS-048")
def test_there_is_a_most_of_logins_under_way_and_the_page_says_when_to_come_again(
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
def test_a_look_by_head_leaves_no_record(service: Service, under_way: UnderWay) -> None:
    shop = service.shop()

    answer = service.http.head(f"{shop.path}/oauth/google", params={"origin": ORIGIN})

    assert (answer.status_code, answer.content) == (302, b"")
    assert under_way(shop) == 0
    start(service, shop)
    assert under_way(shop) == 1


@pytest.mark.row("OAS-049")
def test_a_prefetched_start_does_no_harm(service: Service, shop: Shop, sign_in: MakeSignIn) -> None:
    login = sign_in()
    prefetch = {"Sec-Purpose": "prefetch", "Purpose": "prefetch"}

    answer = service.http.get(f"{shop.path}/oauth/google", params={"origin": ORIGIN}, headers=prefetch)

    assert answer.status_code == 302
    assert login.finish().status == 200
