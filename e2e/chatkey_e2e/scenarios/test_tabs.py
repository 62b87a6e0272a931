"""Tests that several tabs share a key, a token and a logout, and call `getToken` one after another."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from playwright.sync_api import BrowserContext, Page, Route

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance
from chatkey_e2e.scenarios.lines import stop_clocks
from chatkey_e2e.scenarios.test_custom_login import TOKEN_URL, short_lived
from chatkey_e2e.witness import Witness
from chatkey_protocol.frames import Kind
from chatkey_protocol.storage_keys import LOGOUT_CHANNEL_PREFIX, TOKEN_LOCK_PREFIX
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

FROZEN = 25
"""Seconds after which tabs stop waiting for a tab that holds the lock."""

THREE_HOURS = 3 * 3600

HALF_A_HANG = 6
"""Seconds; `getToken` times out after 10. The second tab waits only for the second half, within its own limit."""

NOTE_TIMES = """() => {
  window.at = {};
  for (const name of ["logout", "identity:changed"]) Service.on(name, () => { window.at[name] ??= Date.now(); });
}"""

ANNOUNCE = """async (name) => {
  const posted = new Promise((resolve) => { new BroadcastChannel(name).onmessage = resolve; });
  new BroadcastChannel(name).postMessage("logout");
  await posted;
}"""

NOTE_ABORT = """(() => {
  const { fetch } = window;
  window.fetch = (address, options) => {
    options?.signal?.addEventListener("abort", () => { window.aborted = true; });
    return fetch(address, options);
  };
})()"""


@pytest.fixture
def open_beside(context: BrowserContext, business: Business) -> Callable[[], ShopPage]:
    """Open the shop in another tab."""

    def open_one() -> ShopPage:
        shop = ShopPage(context.new_page(), business)
        shop.open()
        return shop

    return open_one


OpenBeside = Callable[[], ShopPage]


@contextmanager
def each_expects(widgets: list[WidgetPage], name: str) -> Iterator[None]:
    """When the block ends, wait until each widget has emitted this event once more."""
    with ExitStack() as expecting:
        for widget in widgets:
            expecting.enter_context(widget.expect_event(name))
        yield


def never_answers(page: Page) -> None:
    """Make the page's `getToken` hang."""
    page.route(TOKEN_URL, lambda _: None)


@pytest.mark.needs("clock")
@pytest.mark.contract("D-12/tabs", "3/renewal")
def test_one_of_four_tabs_renews_for_all(
    advance: Advance, shop: ShopPage, open_beside: OpenBeside, business: Business, witness: Witness
) -> None:
    """F043: before the token expires, one of four tabs must call the backend, and all must get the new token."""
    shop.page.route(TOKEN_URL, lambda route: route.fulfill(json={"token": short_lived(business, route)}), times=1)
    shop.open().wait_for("member")
    widgets = [shop.widget, *(open_beside().widget for _ in range(3))]
    shop.sign_in_elsewhere()
    sockets = len(witness.sockets)

    with each_expects(widgets, "token:refreshed"):
        advance(60)
        advance(max(widget.debug()["timers"]["renew"] for widget in widgets))

    assert business.token_calls == 1
    assert {frame["token"] for frame in witness.frames(Kind.REFRESH)[-4:]} == {shop.widget.stored(business.storage_key)}
    assert len(witness.sockets) == sockets
    assert sorted(len(widget.events("token:adopted")) for widget in widgets) == [0, 1, 1, 1]


@pytest.mark.needs("clock")
@pytest.mark.contract("D-12/tabs")
def test_tabs_that_slept_past_the_end_of_their_token_ask_once(
    advance: Advance, shop: ShopPage, open_beside: OpenBeside, stack: Stack
) -> None:
    """F043: when three tabs resume after three hours, `getToken` must be called once, for the same member."""
    shop.open()
    widgets = [shop.sign_in(), *(open_beside().widget for _ in range(2))]
    context, uid = shop.page.context, shop.widget.uid
    asked: list[Route] = []
    context.route(TOKEN_URL, lambda route: asked.append(route))  # noqa: PLW0108  (Playwright takes no built-in method)

    with each_expects(widgets, "token:requested"), context.expect_event("request", lambda r: "/chat/token" in r.url):
        context.clock.fast_forward(THREE_HOURS * 1000)
    stack.advance(THREE_HOURS)
    with each_expects(widgets, "socket:ready"):
        asked[0].continue_()

    assert [widget.uid for widget in widgets] == [uid] * 3
    assert len(asked) == 1
    assert [widget.events("logout") for widget in widgets] == [[]] * 3


@pytest.mark.contract("D-12/tabs")
@pytest.mark.parametrize("ending", ["closed", "timed-out"])
def test_a_tab_whose_call_comes_to_nothing_does_not_keep_the_next_one_waiting(
    page_time: Advance, shop: ShopPage, open_beside: OpenBeside, witness: Witness, ending: str
) -> None:
    """F043: if a tab is closed during its `getToken` call, or the call times out, the next tab must call `getToken`."""
    waiting = open_beside().widget
    waiting.wait_for_event("token:none")
    never_answers(shop.page)
    shop.sign_in_elsewhere()
    with shop.page.expect_request(TOKEN_URL):
        shop.open()
    page_time(HALF_A_HANG)
    waiting.restart()
    requested, asked = waiting.events("token:requested"), len(witness.asked(f"/{shop.business.slug}/chat/token"))

    if ending == "closed":
        shop.page.close()
    else:
        page_time(HALF_A_HANG)
    waiting.wait_for("member")

    assert [request["reason"] for request in requested] == ["load"]
    assert asked == 2
    assert len(witness.asked(f"/{shop.business.slug}/chat/token")) == 3


@pytest.mark.contract("D-12/tabs")
def test_a_frozen_tab_that_holds_the_lock_keeps_nobody_waiting_for_ever(
    page_time: Advance, context: BrowserContext, shop: ShopPage, business: Business
) -> None:
    """F043: a frozen tab must lose the lock after a while, so that the other tabs can continue."""
    frozen = context.new_page()
    frozen.goto(f"{business.origin}/")
    lock = TOKEN_LOCK_PREFIX + business.provider.id
    frozen.evaluate("(name) => { navigator.locks.request(name, () => new Promise(() => {})).catch(() => {}); }", lock)
    shop.sign_in_elsewhere()
    widget = shop.open()
    widget.wait_for_event("token:requested")
    asked = business.token_calls, widget.identity["identity"]

    page_time(FROZEN)
    widget.wait_for("member")

    assert asked == (0, "visitor")
    assert business.token_calls == 1
    assert frozen.evaluate("(name) => navigator.locks.request(name, () => 'granted')", lock) == "granted"


@pytest.mark.contract("D-12/tabs", "2.8/deleted-by-logout")
def test_a_logout_is_one_in_all_tabs_within_a_second(
    context: BrowserContext, shop: ShopPage, open_beside: OpenBeside
) -> None:
    """F190, WDG-011: a logout must reach all tabs at once. Each tab must report it and become the visitor."""
    context.clock.install()
    visitor = shop.open().uid
    widgets = [shop.sign_in(), *(open_beside().widget for _ in range(2))]
    for widget in widgets:
        widget.page.evaluate(NOTE_TIMES)
    stop_clocks(context)

    began = shop.page.evaluate("() => { const now = Date.now(); Service.logout(); return now; }")
    for widget in widgets:
        widget.wait_for("visitor")

    ended = [at for widget in widgets for at in widget.page.evaluate("() => Object.values(window.at)")]
    assert len(ended) == 6
    assert set(ended) == {began}
    assert [widget.uid for widget in widgets] == [visitor] * 3
    assert [widget.events("logout") for widget in widgets] == [[{"heard": False}], [{"heard": True}], [{"heard": True}]]


@pytest.mark.contract("D-12/tabs")
def test_word_of_a_logout_that_comes_late_does_not_end_the_next_login(
    shop: ShopPage, open_beside: OpenBeside, business: Business
) -> None:
    """F190, F196: a tab that receives a logout only after the next login must keep the new member."""
    shop.open()
    late = open_beside().widget
    shop.sign_in()
    late.wait_for("member")

    late.page.evaluate(ANNOUNCE, LOGOUT_CHANNEL_PREFIX + business.provider.id)
    late.send("still here")

    assert [widget.identity["identity"] for widget in (late, shop.widget)] == ["member", "member"]
    assert late.events("logout") == []


@pytest.mark.contract("D-12/tabs", "2.8/deleted-by-logout")
def test_a_logout_while_gettoken_is_under_way_counts_in_all_tabs(
    shop: ShopPage, open_beside: OpenBeside, business: Business
) -> None:
    """F191: a logout must cancel running and waiting `getToken` calls in all tabs. A late answer must be ignored."""
    other = open_beside().widget
    other.wait_for_event("token:none")
    calls = business.token_calls
    never_answers(shop.page)
    shop.page.add_init_script(NOTE_ABORT)
    shop.sign_in_elsewhere()
    with shop.page.expect_request(TOKEN_URL):
        shop.open()
    other.restart()

    shop.page.evaluate("() => Service.logout()")
    shop.page.wait_for_function("() => window.aborted")
    other.send("still a visitor")

    assert business.token_calls == calls
    assert [widget.identity["identity"] for widget in (shop.widget, other)] == ["visitor", "visitor"]
    other.refresh_identity()
    other.wait_for("member")


@pytest.mark.contract("D-12/tabs", "D-01/queue", "2.8/deleted-by-logout")
def test_a_logout_counts_before_the_widget_runs(context: BrowserContext, shop: ShopPage, business: Business) -> None:
    """F189: a logout on a page that is still loading must end the member's session in all tabs."""
    shop.open()
    shop.sign_in()
    hasty = ShopPage(context.new_page(), business)
    hasty.page.route("**/*.snapshot*", lambda route: None)
    hasty.visit()
    hasty.page.wait_for_function("() => window.Service")

    hasty.page.evaluate("() => Service.logout()")
    hasty.page.close()
    shop.widget.wait_for("visitor")

    assert shop.widget.stored(business.storage_key) is None
