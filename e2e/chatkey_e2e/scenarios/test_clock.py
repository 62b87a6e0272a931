"""Tests clocks and timers: a wrong clock, a laptop that slept, a hidden tab, and a delay too long for a timer."""

import pytest
from playwright.sync_api import BrowserContext, Route

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance
from chatkey_e2e.witness import Witness, claims_of
from chatkey_protocol.frames import Kind
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

HOUR = 3600
FIVE_YEARS = 5 * 365 * 24 * HOUR
FORTY_SIX_DAYS = 4_000_000

WAKE_UP = """() => {
  document.dispatchEvent(new Event("visibilitychange"));
  window.dispatchEvent(new Event("online"));
  window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
}"""

HIDDEN_TAB = """() => {
  const setTimeout = window.setTimeout;
  Object.assign(window, { isHidden: false, held: 0 });
  Object.defineProperty(Document.prototype, "visibilityState", { get: () => isHidden ? "hidden" : "visible" });
  window.setTimeout = (work, wait = 0, ...values) => {
    if (!isHidden || wait < 1000) return setTimeout(work, wait, ...values);
    held += 1;
    const due = Math.ceil((Date.now() + wait) / 60_000) * 60_000;
    return setTimeout(work, due - Date.now(), ...values);
  };
}"""
"""Imitates a browser's background tab: long timers fire once a minute, on the minute."""

STEP = 12
"""Seconds; shorter than any timeout, so that moving the clock does not end a pending request."""

REAUTH = 30
"""Seconds before the token's expiry at which the server asks for a new one."""

ENDS_AFTER = """(least) => Service.debug().events
  .findLast(({ name }) => name === "socket:ready" || name === "token:refreshed").detail.expires_at > least"""
"""Whether the last token that the server accepted is valid beyond this time."""


def counted(widget: WidgetPage, name: str) -> int:
    """Return how often the widget has emitted an event."""
    return int(widget.debug()["counters"].get(name, 0))


@pytest.mark.needs("faults")
@pytest.mark.contract("D-12/clock-skew", "3/reuse-across-loads")
@pytest.mark.parametrize("ahead", [FIVE_YEARS, -HOUR], ids=["five-years-ahead", "an-hour-behind"])
def test_a_page_whose_clock_is_wrong_is_told_once_and_works(
    context: BrowserContext, shop: ShopPage, business: Business, stack: Stack, ahead: int
) -> None:
    """F053, WDG-013: a wrong clock must cause one warning. A reload must keep the member."""
    context.clock.install(time=stack.service_lab.now() + ahead)
    shop.open()
    widget = shop.sign_in()
    calls = business.token_calls

    shop.reload()
    widget.wait_for("member")
    skews = widget.events("warning")
    proof = widget.events("socket:proof")[-1]
    widget.page.evaluate("() => { window.warnings = []; Service.on('warning', (detail) => warnings.push(detail)); }")
    with widget.expect_event("socket:ready"):
        stack.service_lab.arm(where="ping", action="close", code=1011)
        context.clock.fast_forward(26_000)  # until the next ping
    widget.page.evaluate("() => { Service.shutdown(); initService(ServiceConfig); }")
    widget.wait_for("member")

    assert [skew["code"] for skew in skews] == ["clock_skew"]
    assert skews[0]["seconds"] == pytest.approx(ahead, abs=60)
    assert proof["claims"]["iat"] == pytest.approx(stack.service_lab.now(), abs=60)
    assert widget.page.evaluate("() => warnings") == []
    assert business.token_calls == calls


@pytest.mark.needs("clock")
@pytest.mark.contract("3/renewal", "2.6/refresh", "D-10/reconnect")
@pytest.mark.parametrize("who", ["visitor", "member"])
def test_a_laptop_that_slept_for_three_hours_gets_a_token_first_and_a_socket_second(
    advance: Advance, shop: ShopPage, business: Business, witness: Witness, who: str
) -> None:
    """WDG-019, F062: if all timers fire at once after a sleep, the widget must request one token, then one socket."""
    widget = shop.open()
    widget.wait_for_event("token:none")  # no request is pending when the clock jumps
    if who == "member":
        shop.sign_in()
    context, uid, sockets = shop.page.context, widget.uid, counted(widget, "socket:opening")
    endpoint = f"**{business.visitor_token_path}?*" if who == "visitor" else "**/chat/token"
    first = witness.socket_tokens[-1]
    asked: list[Route] = []
    context.route(endpoint, lambda route: asked.append(route))  # noqa: PLW0108  (Playwright takes no built-in method)

    with context.expect_event("request", lambda request: "token" in request.url):
        context.clock.fast_forward(3 * HOUR * 1000)
        widget.page.evaluate(WAKE_UP)
    sockets_before_the_token = counted(widget, "socket:opening")
    business.stack.advance(3 * HOUR)
    with widget.expect_event("socket:ready"):
        asked[0].continue_()
    widget.send("Good morning")

    used = witness.frames(Kind.CONNECT)[-1]["token"]
    assert claims_of(used)["iat"] >= claims_of(first)["iat"] + 3 * HOUR
    assert widget.stored(business.storage_key) == (used if who == "member" else None)
    assert len(asked) == 1
    assert sockets_before_the_token == sockets
    assert counted(widget, "socket:opening") == sockets + 1
    assert widget.uid == uid
    assert widget.events("error") == []


@pytest.mark.needs("clock")
@pytest.mark.contract("2.6/refresh", "8/refresh-50")
def test_a_hidden_tab_stays_connected(advance: Advance, shop: ShopPage, stack: Stack) -> None:
    """F061: in a hidden tab with throttled timers, the token must be renewed in time on the same socket."""
    shop.page.context.add_init_script(f"({HIDDEN_TAB})()")
    widget = shop.open()
    widget.page.evaluate("() => { isHidden = true; document.dispatchEvent(new Event('visibilitychange')); }")

    for _ in range(25):
        advance(STEP)
        widget.page.wait_for_function(ENDS_AFTER, arg=stack.service_lab.now() + REAUTH)
    held = widget.page.evaluate("() => held")
    widget.page.evaluate("() => { isHidden = false; document.dispatchEvent(new Event('visibilitychange')); }")
    widget.send("Back again")

    assert held > 5
    assert counted(widget, "token:refreshed") >= 3
    assert counted(widget, "socket:opening") == 1
    assert (counted(widget, "socket:closed"), counted(widget, "socket:lost")) == (0, 0)


@pytest.mark.contract("D-12/no-hammering")
def test_a_wait_that_no_timer_can_hold_does_not_end_at_once(
    page_time: Advance, shop: ShopPage, business: Business, witness: Witness
) -> None:
    """The widget must wait for a `Retry-After` of 46 days, although browsers fire timers above 2^31 ms at once."""
    headers = {"access-control-allow-origin": "*", "access-control-expose-headers": "retry-after"}
    full = {**headers, "retry-after": str(FORTY_SIX_DAYS)}
    shop.page.route(f"**{business.visitor_token_path}?*", lambda route: route.fulfill(status=429, headers=full))
    shop.visit()
    waiting = shop.widget.wait_for_event("socket:waiting")

    page_time(HOUR)
    asked_by_then = len(witness.asked(business.visitor_token_path))
    shop.page.unroute(f"**{business.visitor_token_path}?*")
    shop.page.evaluate("() => window.dispatchEvent(new Event('online'))")
    page_time(1)
    shop.widget.wait_ready()

    assert waiting["seconds"] == FORTY_SIX_DAYS
    assert asked_by_then == 1
