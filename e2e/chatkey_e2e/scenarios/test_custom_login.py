"""Tests custom login (mode 2), in which the integrator's backend signs a token for the person who is signed in."""

from typing import Any

import pytest
from playwright.sync_api import Response, Route

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ADA, ShopPage
from chatkey_e2e.plugin import Advance
from chatkey_e2e.witness import Witness, claims_of
from chatkey_protocol.frames import Kind

TOKEN_URL = "**/chat/token"


def gives_a_token(response: Response) -> bool:
    return response.url.endswith("/chat/token") and bool(response.json()["token"])


def short_lived(business: Business, route: Route) -> str:
    """Return a token for a `getToken` request of the shop's first customer, which expires in under three minutes."""
    now = business.stack.service_lab.now()
    jkt = route.request.frame.evaluate("() => Service.debug().jkt")  # not every driver reports request bodies
    return business.mint(now=now, uid=business.ada, cnf={"jkt": jkt}, exp=int(now) + 170)


@pytest.mark.contract(
    "1/mode-custom", "2.4/unchanged", "2.4/display", "2.8/member-token-key", "3/get-token", "4.7/request"
)
def test_the_token_is_used_unchanged_and_cached(shop: ShopPage, business: Business, witness: Witness) -> None:
    """The token from `getToken` must be used for the socket unchanged, and stored unchanged in localStorage."""
    widget = shop.open()

    with shop.page.expect_response(gives_a_token) as answer:
        shop.sign_in()

    token = answer.value.json()["token"]
    assert witness.frames(Kind.CONNECT)[-1]["token"] == token
    assert widget.stored(business.storage_key) == token
    assert claims_of(token)["cnf"] == {"jkt": widget.jkt}
    assert widget.identity["name"] == ADA


@pytest.mark.contract("3/reuse-across-loads")
def test_a_reload_reuses_the_cached_token_without_a_second_gettoken(
    shop: ShopPage, business: Business, witness: Witness
) -> None:
    """WDG-009: a member who reloads within an hour must be connected as the member without a request to the backend."""
    shop.open()
    shop.sign_in()
    calls, token = business.token_calls, witness.frames(Kind.CONNECT)[-1]["token"]
    connections = len(witness.frames(Kind.CONNECT))

    widget = shop.reload()

    assert widget.identity["identity"] == "member"
    assert [frame["token"] for frame in witness.frames(Kind.CONNECT)[connections:]] == [token]
    assert business.token_calls == calls


@pytest.mark.needs("clock")
@pytest.mark.contract("3/renewal", "5.3/renews")
def test_the_token_is_renewed_before_it_ends_on_the_same_socket(
    advance: Advance, shop: ShopPage, business: Business, witness: Witness
) -> None:
    """A minute before the token expires, the widget must call `getToken` and send the new token on the open socket."""
    shop.page.route(TOKEN_URL, lambda route: route.fulfill(json={"token": short_lived(business, route)}), times=1)
    widget = shop.open()
    widget.wait_for("member")
    first, sockets = witness.frames(Kind.CONNECT)[-1]["token"], len(witness.sockets)
    shop.sign_in_elsewhere()

    with widget.expect_event("token:refreshed"):
        advance(60)
        advance(widget.debug()["timers"]["renew"])

    renewed = witness.frames(Kind.REFRESH)[-1]["token"]
    assert claims_of(renewed)["exp"] > claims_of(first)["exp"]
    assert claims_of(renewed)["uid"] == claims_of(first)["uid"]
    assert widget.stored(business.storage_key) == renewed
    assert len(witness.sockets) == sockets


@pytest.mark.needs("clock")
@pytest.mark.contract("3/get-token-null")
def test_null_leaves_the_visitor_and_is_not_asked_again(advance: Advance, shop: ShopPage, business: Business) -> None:
    """If nobody is signed in, the widget must stay a visitor and must not call the backend again."""
    widget = shop.open()
    widget.wait_for_event("token:none")

    with widget.expect_event("socket:ready"):
        advance(600)

    assert widget.identity["identity"] == "visitor"
    assert widget.stored(business.storage_key) is None
    assert business.token_calls == 1


@pytest.mark.contract("3/get-token-failed", "D-12/get-token-bounds")
def test_a_failing_backend_leaves_the_visitor_and_is_asked_again_later(
    page_time: Advance, shop: ShopPage, business: Business
) -> None:
    """If the backend fails, the visitor can chat, and the widget must call `getToken` again later."""
    shop.page.route(TOKEN_URL, lambda route: route.fulfill(status=500, body="broken"), times=1)
    widget = shop.open()
    widget.wait_for_event("error")

    page_time(2)
    widget.wait_for_event("token:none")

    assert widget.identity["identity"] == "visitor"
    assert widget.events("error")[0]["code"] == "gettoken_failed"
    assert business.token_calls == 1


@pytest.mark.contract("3/logout", "2.8/deleted-by-logout", "1/logout-visitor")
def test_logout_goes_back_to_the_same_visitor(shop: ShopPage, business: Business) -> None:
    """F189: `logout()` must delete the cached token, and the widget must connect as the earlier visitor."""
    widget = shop.open()
    visitor = widget.uid
    shop.sign_in()

    widget.logout()

    assert widget.uid == visitor
    assert widget.stored(business.storage_key) is None


@pytest.mark.contract("3/logout")
def test_leaving_the_shop_ends_the_member_session(shop: ShopPage, business: Business) -> None:
    """When the shop signs its customer out, the next page must connect as the visitor."""
    visitor = shop.open().uid
    shop.sign_in()

    shop.leave()
    shop.widget.wait_ready()

    assert shop.widget.uid == visitor
    assert shop.widget.stored(business.storage_key) is None


@pytest.mark.needs("clock")
@pytest.mark.contract("2.8/exp-before-reuse", "D-06/dropped-before-connect")
def test_a_cached_token_that_has_ended_is_dropped_before_anything_connects(
    advance: Advance, shop: ShopPage, business: Business, witness: Witness
) -> None:
    """If the token's hour is over, a reload must get a new token without trying the old token."""
    shop.open()
    shop.sign_in()
    old = witness.frames(Kind.CONNECT)[-1]["token"]
    shop.page.goto("about:blank")
    advance(3601)
    connections = len(witness.frames(Kind.CONNECT))

    shop.open()
    shop.widget.wait_for("member")

    used = [frame["token"] for frame in witness.frames(Kind.CONNECT)[connections:]]
    assert old not in used
    assert claims_of(used[-1])["uid"] == business.ada


@pytest.mark.contract("2.4/cnf.jkt", "D-12/always-chat")
def test_a_member_token_without_the_key_is_refused_and_the_visitor_stays(shop: ShopPage, business: Business) -> None:
    """A token without `cnf.jkt` must not be used. The page must get an error, and the visitor can chat."""
    now = business.stack.service_lab.now()
    unbound = business.mint(now=now, uid=business.ada)

    def answer(route: Route) -> None:
        route.fulfill(json={"token": unbound})

    shop.page.route(TOKEN_URL, answer)
    widget = shop.open()
    widget.wait_for_event("error")

    error = widget.events("error")[0]
    assert error["code"] == "token_claims"
    assert "cnf.jkt" in error["message"] + error["remediation"]
    assert widget.identity["identity"] == "visitor"
    assert widget.stored(business.storage_key) is None


@pytest.mark.contract("D-12/get-token-bounds", "D-12/always-chat", "3/get-token-failed")
def test_every_kind_of_failing_gettoken_is_named_and_the_visitor_can_chat(
    page_time: Advance, shop: ShopPage, business: Business
) -> None:
    """For each way in which `getToken` fails, the page must get the error code, and the visitor can chat."""
    answer: object = None
    shop.page.route(TOKEN_URL, lambda route: route.fulfill(json={"token": answer}))
    widget = shop.open()
    jkt, now = widget.jkt, int(business.stack.service_lab.now())
    good: dict[str, Any] = {"now": now, "uid": business.ada, "cnf": {"jkt": jkt}}
    kinds: dict[str, object] = {
        "token_wrong_type": {"token": "nested"},
        "token_empty": "",
        "token_malformed": "null",
        "token_too_large": business.mint(**good, data={"notes": "x" * 9000}),
        "token_claims": business.mint(**{**good, "uid": None}),
        "token_expired": business.mint(**good, exp=now - 60),
        "token_key_mismatch": business.mint(**{**good, "cnf": {"jkt": "x" * 43}}),
        "token_signature": business.mint(**good)[:-4] + "AAAA",
    }

    for code, answer in kinds.items():  # noqa: B007  (the route above answers with it)
        widget.refresh_identity()
        widget.wait_for_error(code)
    widget.wait_for("visitor")
    shop.page.unroute(TOKEN_URL)
    unanswered: list[Route] = []
    shop.page.route(TOKEN_URL, lambda route: unanswered.append(route))  # noqa: PLW0108  (Playwright takes no built-in method)
    with shop.page.expect_request(TOKEN_URL):
        widget.refresh_identity()
    page_time(11)
    widget.wait_for_error("gettoken_timeout")
    widget.send("Is anybody there?")
    unanswered.pop().abort()

    assert widget.identity["identity"] == "visitor"
    assert widget.uid == f"v_{jkt}"
    assert widget.stored(business.storage_key) is None
