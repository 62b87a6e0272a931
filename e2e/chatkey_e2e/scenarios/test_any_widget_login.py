"""Tests the contract's requirements for any widget that concern `getToken`, `logout()` and the configuration."""

import json
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Route

from chatkey_e2e.business import Business
from chatkey_e2e.pages.driven import DrivenWidget
from chatkey_e2e.plugin import Advance, MakeBusiness, MakeDriven
from chatkey_e2e.scenarios.keys import key_of, thumbprint
from chatkey_e2e.scenarios.openers import blank
from chatkey_e2e.witness import claims_of
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.any_widget

TOKEN_URL: Final = "**/chat/token"
LIFETIME: Final = 600
SHORTLY: Final = 20
"""Seconds before a token expires at which a widget must have renewed the token."""

CLEAR: Final = """async () => {
  localStorage.clear();
  for (const { name } of await indexedDB.databases()) {
    await new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase(name);
      Object.assign(request, { onsuccess: resolve, onerror: reject, onblocked: reject });
    });
  }
}"""

LOG_OUT: Final = "async () => { await window.Service.logout(); }"


NO_BODY: Final = pytest.mark.only_browser("chromium", because="Firefox's driver gives no body of getToken's request")


@pytest.fixture
def business(request: pytest.FixtureRequest, make_business: MakeBusiness) -> Business:
    """A business whose pages have a `getToken`, unless the parameter is False."""
    return make_business(get_token=getattr(request, "param", True))


@NO_BODY
@pytest.mark.contract("3/get-token-null", "4.8/get-token-argument")
def test_null_from_get_token_leaves_a_visitor_who_can_chat(driven: DrivenWidget) -> None:
    """`getToken` must receive an object with the key's `jkt`. After null, the visitor must stay and can chat."""
    uid = driven.visit()
    driven.wait_for_answer("/chat/token")

    driven.send("Is anybody there?")
    driven.wait_until_stored()

    bodies = [json.loads(request.post_data or "") for request in driven.requests("/chat/token")]
    assert bodies == [{"jkt": thumbprint(key_of(driven.connections[-1]))}] * len(bodies)
    assert {(frame["identity"], frame["uid"]) for frame in driven.witness.accepted} == {("visitor", uid)}
    assert driven.stored_token() is None


@pytest.mark.contract("3/get-token-failed")
def test_after_a_failed_get_token_the_visitor_can_chat(driven: DrivenWidget) -> None:
    """If the page's backend answers with an error, the visitor must stay and can chat."""
    driven.page.route(TOKEN_URL, lambda route: route.fulfill(status=503))
    uid = driven.visit()
    driven.wait_for_answer("/chat/token")

    driven.send("Is anybody there?")
    driven.wait_until_stored()

    assert {(frame["identity"], frame["uid"]) for frame in driven.witness.accepted} == {("visitor", uid)}


@pytest.mark.contract("2.8/exp-before-reuse", "D-06/dropped-before-connect")
def test_a_cached_token_that_has_expired_is_never_sent(driven: DrivenWidget, stack: Stack) -> None:
    """An expired token for the right key must be deleted, and the widget must connect as the visitor."""
    visitor = driven.visit()
    key = thumbprint(key_of(driven.connections[-1]))
    past = stack.service_lab.now() - 2 * LIFETIME
    expired = driven.business.mint(now=past, uid="u-1002", cnf={"jkt": key}, exp=int(past) + LIFETIME)
    driven.store_token(expired)

    assert driven.reload() == visitor

    assert expired not in driven.witness.socket_tokens
    assert driven.stored_token() != expired


@NO_BODY
@pytest.mark.needs("clock")
@pytest.mark.contract("3/renewal", "5.3/renews")
def test_a_custom_token_is_renewed_before_it_expires(advance: Advance, driven: DrivenWidget, stack: Stack) -> None:
    """Before the member's token expires, the widget must call `getToken` again and send the newer token."""

    def answer(route: Route) -> None:
        now = stack.service_lab.now()
        binding = json.loads(route.request.post_data or "")
        token = driven.business.mint(now=now, uid="u-1002", cnf=binding, exp=int(now) + LIFETIME)
        route.fulfill(json={"token": token})

    driven.page.route(TOKEN_URL, answer)
    driven.visit()
    uid = driven.wait_for_member()
    first = claims_of(driven.connections[-1]["token"])

    advance(LIFETIME - SHORTLY)
    driven.until(lambda: claims_of(driven.witness.socket_tokens[-1])["iat"] > first["iat"], "a newer token")

    newer = claims_of(driven.witness.socket_tokens[-1])
    assert (newer["uid"], newer["type"]) == (uid, "user")
    assert newer["iat"] < first["exp"]


@pytest.mark.contract("4.8/logout", "3/logout", "2.8/deleted-by-logout", "1/logout-visitor")
def test_the_page_logs_a_member_out(driven: DrivenWidget) -> None:
    """After `Service.logout()`, the cached token must be gone, and the widget must connect as the earlier visitor."""
    visitor = driven.visit()
    driven.enter_shop()

    driven.page.evaluate(LOG_OUT)

    assert driven.wait_for_visitor() == visitor
    assert driven.stored_token() is None


@pytest.mark.contract("D-12/tabs", "2.8/deleted-by-logout")
def test_a_logout_in_one_tab_applies_in_all(context: BrowserContext, make_driven: MakeDriven) -> None:
    """If the member logs out in one tab, the other tab must also connect as the visitor."""
    one, two = (make_driven(context.new_page()) for _ in range(2))
    one.visit()
    member = one.enter_shop()
    assert two.visit() == member
    before = len(one.witness.accepted)

    one.page.evaluate(LOG_OUT)
    one.until(lambda: len(one.witness.accepted) >= before + 2, "a new connection of each tab")

    assert [frame["identity"] for frame in one.witness.accepted[before:]] == ["visitor", "visitor"]


@pytest.mark.contract("2.3/cleared")
def test_after_the_data_is_cleared_there_is_another_visitor(driven: DrivenWidget) -> None:
    """Without the key and the data of the earlier visit, the widget must make a new key and be another visitor."""
    earlier = driven.visit()
    driven.page.goto(blank(driven.page.context, f"{driven.business.origin}/cleared"))
    driven.page.evaluate(CLEAR)

    assert driven.visit() != earlier


@pytest.mark.contract("4.8/config", "4.8/sdk")
def test_a_page_may_start_the_widget_with_init_service(driven: DrivenWidget) -> None:
    """On a page without `ServiceConfig`, `initService()` must start the widget with the given `providerId`."""
    _, start, script = driven.business.snippet(get_token=False).partition("<script async")
    onload = f"initService({{ providerId: '{driven.business.provider.id}' }})"

    driven.page.goto(
        driven.business.add_page(f'<!doctype html><title>A page</title>{start} onload="{onload}"{script}<p>Hello')
    )

    assert driven.wait_for_visitor()


@pytest.mark.parametrize("business", [pytest.param(False, id="without-get-token")], indirect=True)
@pytest.mark.contract("4.8/config", "1/visitor-always")
def test_a_page_without_get_token_has_visitors(driven: DrivenWidget) -> None:
    """If the configuration has only a `providerId`, the widget must connect a visitor, who can chat."""
    uid = driven.visit()

    driven.send("Is anybody there?")
    driven.wait_until_stored()

    assert driven.wait_for_visitor() == uid
