"""Tests the widget's life in a page: repeated starts, shutdown and restart, frozen pages, and a removed element."""

import pytest
from playwright.sync_api import expect

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import Advance
from chatkey_e2e.scenarios.leftovers import count, leftovers
from chatkey_e2e.scenarios.openers import errors_of
from chatkey_e2e.scenarios.realistic import realistically
from chatkey_e2e.witness import Witness

pytestmark = pytest.mark.long

ROUNDS = 50

COME_AND_GO = """async ([config, rounds]) => {
  const stages = ["ready", "socket:opening", "key:ready", "configuration:loaded", "at once"];
  for (let round = 0; round < rounds; round += 1) {
    const handle = initService(config);
    const stage = stages[round % stages.length];
    const reached = (act) => new Promise((resolve) => {
      const listener = () => { handle.off(stage, listener); act(); resolve(); };
      handle.on(stage, listener);
    });
    if (stage !== "at once") await reached(round % 2 ? handle.shutdown : () => {});
    handle.shutdown();
  }
}"""

PRERENDERED = """let prerendering = true;
Object.defineProperty(document, "prerendering", { configurable: true, get: () => prerendering });
window.activate = () => {
  prerendering = false;
  document.dispatchEvent(new Event("prerenderingchange"));
};"""

BE_SERVED_BY_A_WORKER = """async (script) => {
  await navigator.serviceWorker.register(`/static/${script}`, { scope: "/" });
  await navigator.serviceWorker.ready;
}"""

WHAT_WORKERS_KEEP = """async () => {
  const cache = await caches.open("everything");
  return (await cache.keys()).map((request) => new URL(request.url).pathname);
}"""

NOTE_RETURN = """() => {
  window.returned = null;
  addEventListener("pageshow", ({ persisted }) => {
    window.returned = { persisted, identity: Service.identity.identity };
  });
}"""


TALL_AND_MOVED = """() => {
  document.body.style.minHeight = "5000px";
  document.body.style.transform = "translate(300px, 1000px)";
}"""

COLLECT_SILENTLY = """() => {
  window.FinalizationRegistry = class {
    register() {}
    unregister() {}
  };
}"""
"""Disables `FinalizationRegistry`, so that the test does not depend on when the browser collects garbage.

Its callbacks run Python. If they run in a page of the back-forward cache, Chromium discards that page.
"""


@pytest.mark.contract("D-12/handle")
def test_a_second_init_and_a_second_script_change_nothing(shop: ShopPage, business: Business, witness: Witness) -> None:
    """F070, F071: a second `initService()`, another provider or a second script must not change the running widget."""
    widget = shop.open()
    page, uid = widget.page, widget.uid

    same = page.evaluate("(id) => initService({ providerId: id }) === Service", business.provider.id)
    other = page.evaluate("() => initService({ providerId: 'prov_another' }) === Service")
    page.add_script_tag(url=page.evaluate("() => document.querySelector('script[src$=\"/sdk.js\"]').src"))
    widget.send("Still there?")

    assert (same, other, widget.uid) == (True, True, uid)
    assert widget.debug()["boot"]["error"]["code"] == "already_initialized"
    assert any("initService() was called again" in line for line in witness.said)
    assert any("loads sdk.js twice" in line for line in witness.said)
    assert len(witness.sockets) == 1


@pytest.mark.contract("D-12/handle")
def test_fifty_changes_of_route_leave_nothing_behind(shop: ShopPage, business: Business, witness: Witness) -> None:
    """F073: fifty starts and shutdowns must leave no more sockets, timers, listeners or functions than one start."""
    config = {"providerId": business.provider.id}
    count(shop.page)
    widget = shop.open()
    running = widget.page.evaluate("() => leftovers()")
    widget.page.evaluate("() => Service.shutdown()")
    before = leftovers(widget.page)

    widget.page.evaluate(COME_AND_GO, [config, ROUNDS])

    assert leftovers(widget.page) == before
    assert all(running[kind] > before[kind] for kind in before)
    assert (before["timers"], before["elements"]) == (0, 0)
    assert all(socket.is_closed() for socket in witness.sockets)
    assert len([request for request in witness.requests if request.url.endswith(".snapshot")]) == 1
    widget.page.evaluate("(config) => { initService(config); }", config)
    widget.wait_ready()
    widget.send("After all that, I can write.")


def test_a_widget_pulled_out_of_the_page_can_be_started_again(shop: ShopPage, business: Business) -> None:
    """F085: if the page removes the widget's element, nothing must break, and the page can start the widget again."""
    widget = shop.open()
    own_errors = errors_of(widget.page)
    widget.open()

    widget.page.evaluate("() => document.querySelector('chatkey-widget').remove()")
    widget.page.evaluate("() => { Service.close(); Service.open(); }")
    with widget.expect_event("token:none"):
        widget.refresh_identity()
    widget.page.evaluate("() => Service.shutdown()")
    widget.page.evaluate("(providerId) => { initService({ providerId }); }", business.provider.id)
    widget.wait_ready()
    widget.send("Here I am again")

    assert own_errors == []
    expect(widget.page.locator("chatkey-widget")).to_have_count(1)


@realistically
@pytest.mark.only_browser("chromium", because="Firefox does not cache pages with an open socket")
@pytest.mark.contract("2.8/deleted-by-logout")
def test_a_page_that_comes_back_is_nobody_who_logged_out(shop: ShopPage, business: Business) -> None:
    """F081 (realistic): after a logout, a page from the back-forward cache must show the visitor immediately."""
    shop.page.add_init_script(f"({COLLECT_SILENTLY})()")
    shop.open()
    widget = shop.sign_in()
    page = widget.page
    page.evaluate(NOTE_RETURN)
    before = widget.debug()["counters"]
    page.goto(f"{business.origin}/")
    page.evaluate("(key) => localStorage.removeItem(key)", business.storage_key)

    page.evaluate("() => { setTimeout(() => history.back()); }")
    page.wait_for_function("() => window.returned")
    widget.wait_for_event("socket:ready", count=before["socket:ready"] + 1)

    assert page.evaluate("() => returned") == {"persisted": True, "identity": "visitor"}
    assert widget.identity["identity"] == "visitor"
    assert widget.debug()["counters"]["socket:opening"] == before["socket:opening"] + 1
    widget.send("It is me, without my account")


@pytest.mark.contract("D-12/visitor-beside")
def test_a_page_rendered_ahead_asks_for_nothing_until_it_is_looked_at(
    shop: ShopPage, business: Business, witness: Witness
) -> None:
    """F083: a prerendered page may start Python, but must get no token, socket or `getToken` call yet."""
    shop.page.add_init_script(PRERENDERED)

    shop.visit()
    shop.page.wait_for_function("() => Service.debug().boot.state === 'running'")
    ahead = (len(witness.sockets), len(witness.asked(business.visitor_token_path)), business.token_calls)
    shop.page.evaluate("() => activate()")
    shop.widget.wait_for_event("token:none")
    shop.widget.wait_ready()

    assert ahead == (0, 0, 0)
    assert (len(witness.sockets), business.token_calls) == (1, 1)


def test_a_page_with_a_service_worker_has_a_widget_like_any_other(shop: ShopPage) -> None:
    """With a service worker that handles all requests, the snapshot must start, and the chat must work."""
    shop.visit()
    shop.page.evaluate(BE_SERVED_BY_A_WORKER, "worker.js")

    widget = shop.reload()
    shop.sign_in()
    widget.send("Is the moss cup for tea?")

    assert shop.page.evaluate("() => navigator.serviceWorker.controller !== null")
    assert widget.debug()["boot"]["from"] == "snapshot"


@pytest.mark.needs("clock")
def test_a_service_worker_that_answers_from_its_cache_locks_no_visitor_out(
    advance: Advance, shop: ShopPage, business: Business
) -> None:
    """F206: if a service worker returns an hour-old token from its cache, the widget must get a new token."""
    shop.visit()
    shop.page.evaluate(BE_SERVED_BY_A_WORKER, "cache-first-worker.js")
    widget = shop.reload()
    uid = widget.uid
    advance(3600)

    shop.reload()
    widget.send("Is the moss cup for tea?")

    assert business.visitor_token_path in shop.page.evaluate(WHAT_WORKERS_KEEP)
    assert widget.uid == uid
    assert widget.events("error") == []


@pytest.mark.parametrize("is_open", [False, True], ids=["launcher", "panel"])
def test_a_transformed_page_does_not_move_the_widget(shop: ShopPage, *, is_open: bool) -> None:
    """F228: launcher and panel must stay in the corner of the screen, and must take clicks."""
    widget = shop.open()
    if is_open:
        widget.open()
    part = shop.page.locator("chatkey-widget").locator(".panel" if is_open else ".launcher")
    before = part.bounding_box()

    shop.page.evaluate(TALL_AND_MOVED)

    assert part.bounding_box() == before
    widget.send("Still in my corner")


def test_an_element_that_the_page_moves_still_works(shop: ShopPage) -> None:
    """F228: a moved popover closes. The widget must stay visible."""
    widget = shop.open()

    shop.page.evaluate("() => document.body.prepend(document.querySelector('chatkey-widget'))")

    widget.send("I have moved")


def test_the_widget_is_not_printed(shop: ShopPage) -> None:
    """F227: an open panel would cover the page on paper."""
    widget = shop.open()
    panel = widget.open()

    shop.page.emulate_media(media="print")
    expect(panel).to_be_hidden()
    expect(shop.page.locator("chatkey-widget .launcher")).to_be_hidden()
    shop.page.emulate_media(media="screen")

    expect(panel).to_be_visible()
