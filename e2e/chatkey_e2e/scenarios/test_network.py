"""Tests network faults between page and service: offline at first, unstable, captive portals, unexpected responses."""

import re
from itertools import cycle
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import DEBUG_POLL_MS
from chatkey_e2e.plugin import Advance
from chatkey_e2e.scenarios.lines import ANY_ORIGIN, PORTAL, wait_out
from chatkey_protocol.names import CONFIG_PATH
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

BINDS = {**ANY_ORIGIN, "Access-Control-Expose-Headers": "Retry-After"}

PLANNED = "() => 'configuration' in Service.debug().timers"

SETTLED = """() => {
  const { stage, timers } = Service.debug();
  return stage === "ready" && !("probe" in timers);
}"""
"""Whether the widget is connected and no ping is waiting for its answer."""

NOTE_NONCES = """() => {
  window.nonces = [];
  Service.on("socket:proof", ({ claims }) => window.nonces.push(claims.nonce));
}"""


@pytest.mark.contract("D-12/always-chat", "2.2/oauth-providers")
def test_a_configuration_that_fails_hides_the_widget_until_it_comes(
    page_time: Advance, context: BrowserContext, business: Business, shop: ShopPage, stack: Stack
) -> None:
    """F086, F088: a failed configuration must hide the widget and be reported once. Unknown members must be ignored."""
    path = CONFIG_PATH.format(id=business.provider.id)
    whole = stack.get(path).json()
    whole["data"] |= {"novelty": {"a": 1}, "auth": {"oauth_providers": ["myspace", "google", 5]}}
    failures: list[dict[str, Any]] = [
        {"status": 500},
        {"body": PORTAL, "content_type": "text/html"},
        {"json": {"greeting": "Hi"}},
    ]
    address = re.compile(re.escape(path) + "$")
    broken = cycle(failures)
    context.route(address, lambda route: route.fulfill(**next(broken), headers=ANY_ORIGIN))

    widget = shop.open()
    launcher = shop.page.get_by_role("button", name="Open chat")
    for _ in failures:
        shop.page.wait_for_function(PLANNED, polling=DEBUG_POLL_MS)
        with shop.page.expect_response(address):
            wait_out(widget, page_time, "configuration")
        expect(launcher).to_be_hidden()
    shop.page.wait_for_function(PLANNED, polling=DEBUG_POLL_MS)
    context.route(address, lambda route: route.fulfill(json=whole, headers=ANY_ORIGIN))
    wait_out(widget, page_time, "configuration")
    loaded = widget.wait_for_event("configuration:loaded")
    widget.send("here it is")

    assert loaded == {"socials": ["google"]}
    assert [error["code"] for error in widget.events("error")] == ["configuration_unreachable"]


@pytest.mark.contract("D-12/no-hammering")
def test_an_overloaded_token_endpoint_is_not_asked_before_its_time(
    page_time: Advance, context: BrowserContext, business: Business, shop: ShopPage
) -> None:
    """F087: the widget must read `Retry-After` across origins, and wait at least that long."""
    busy = iter([(503, "20"), (429, "30")])

    def answer(route: Route) -> None:
        status, seconds = next(busy, (0, ""))
        if status:
            route.fulfill(status=status, headers={**BINDS, "Retry-After": seconds})
        else:
            route.continue_()

    context.route(f"**{business.visitor_token_path}**", answer)
    shop.visit()
    waits = []
    for attempt in (1, 2):
        waits.append(shop.widget.wait_for_event("socket:waiting", count=attempt)["seconds"])
        wait_out(shop.widget, page_time)
    shop.widget.wait_ready()

    assert waits == [20, 30]


@pytest.mark.contract("D-12/always-chat", "D-10/reconnect")
def test_a_portal_that_answers_for_the_service_is_named_and_outwaited(
    page_time: Advance, context: BrowserContext, shop: ShopPage, stack: Stack
) -> None:
    """F086, F087, F091: a portal must be reported as a portal. The visitor must connect once the portal is gone."""
    everything = f"{stack.service.browser_url}/v1/public/**"
    context.route(everything, lambda route: route.fulfill(body=PORTAL, content_type="text/html", headers=ANY_ORIGIN))

    shop.visit()
    widget = shop.widget
    for attempt in range(1, 4):
        widget.wait_for_event("socket:waiting", count=attempt)
        wait_out(widget, page_time)
    widget.wait_for_error("token_unreachable")
    told = {error["code"]: error["message"] for error in widget.events("error")}
    expect(widget.open().get_by_role("alert")).to_contain_text("We cannot reach the chat right now.")
    context.set_offline(True)
    context.unroute(everything)
    context.set_offline(False)
    page_time(1)
    widget.wait_for_event("configuration:loaded")
    widget.send("through the portal")

    assert told.keys() == {"configuration_unreachable", "token_unreachable"}
    assert all("portal or proxy" in message for message in told.values())


@pytest.mark.needs("faults")
@pytest.mark.contract("D-10/reconnect", "D-12/no-hammering", "4.9/one-time")
def test_a_flapping_network_makes_one_socket_a_time_and_asks_the_page_for_nothing(
    page_time: Advance, context: BrowserContext, business: Business, shop: ShopPage, stack: Stack
) -> None:
    """F094: on an unstable network, the member must stay, with one socket at a time and no `getToken` call."""
    shop.open()
    widget = shop.sign_in()
    calls, uid = business.token_calls, widget.uid
    shop.page.evaluate(NOTE_NONCES)
    before: int = widget.debug()["counters"]["socket:ready"]

    for flap in range(1, 11):
        stack.service_lab.arm(where="ping", action="close", code=1001)
        with widget.expect_event("socket:closed"):  # the network is back, but the connection is lost
            context.set_offline(True)
            context.set_offline(False)
        context.set_offline(True)
        page_time(2)
        context.set_offline(False)
        page_time(1)
        widget.wait_for_event("socket:ready", count=before + flap)
        shop.page.wait_for_function(SETTLED, polling=DEBUG_POLL_MS)
        page_time(3)

    nonces = shop.page.evaluate("() => window.nonces")
    widget.send("still the same")
    assert 10 <= len(nonces) == len(set(nonces)) <= 20
    assert (widget.uid, business.token_calls) == (uid, calls)


@pytest.mark.parametrize("has_portal", [False, True], ids=["offline", "portal"])
def test_a_page_that_is_opened_without_a_network_gets_its_chat_later(shop: ShopPage, *, has_portal: bool) -> None:
    """F229: without the widget's files, nothing can start. Once the browser is online, the chat must come by itself."""
    page = shop.page

    def answer(route: Route) -> None:
        if has_portal:
            route.fulfill(content_type="text/html", body=PORTAL)
        else:
            route.abort("internetdisconnected")

    for addresses in (re.compile(r"/assets/(?!sdk)"), re.compile("/v1/public/")):
        page.route(addresses, answer)
    shop.visit()
    page.wait_for_function("() => window.Service?.debug().boot.error")
    failed = page.evaluate("() => Service.debug().boot.error.code")
    page.unroute_all()

    page.evaluate("() => { dispatchEvent(new Event('online')); }")

    shop.widget.wait_ready()
    shop.widget.send("Here I am")
    assert failed == "boot_failed"
    assert shop.widget.debug()["boot"]["from"] == "snapshot"
