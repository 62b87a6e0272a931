"""Tests the sign-in button and its popup: keyboard, double click, popup blocker, early close, and a second login."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from chatkey_e2e import needs
from chatkey_e2e.business import Business
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance, MakeBusiness
from chatkey_e2e.scenarios.realistic import realistically
from chatkey_e2e.scenarios.visitors import BLOCKED, CLOSED, Visitor
from chatkey_e2e.witness import Witness
from chatkey_stack.lab import SocialKeys
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

CONFIGURATION_SECONDS = 60

DOUBLE_CLICK = """(button) => {
  const { now } = Date;
  const moment = now();
  Date.now = () => moment;
  button.click();
  button.click();
  Date.now = now;
}"""
"""Both clicks have the same time, even if the browser takes long to open the first popup."""

WATCH_OPEN = """
  const open = window.open;
  window.opened = [];
  window.open = (...given) => {
    const popup = open.apply(window, given);
    opened.push({ features: given[2], popup });
    return popup;
  };
"""
BLOCK_OPEN = "window.allowed = window.open; window.open = () => null;"


@pytest.fixture
def business(request: pytest.FixtureRequest, make_business: MakeBusiness, social: str) -> Business:
    return make_business(get_token=False, service_keys=needs.socials_of(request.node, social))


BUSY = "() => { setTimeout(() => { const end = performance.now() + 2500; while (performance.now() < end); }); }"
"""Keeps the page busy longer than the approval takes, so that the popup has sent its message and closed before."""


# Pressed


@realistically
@pytest.mark.needs("social")
@pytest.mark.contract("4.6/popup", "3/social-click")
@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_the_button_works_by_keyboard_and_the_popup_blocker_lets_its_window_through(
    widget: WidgetPage, key: str, social: str
) -> None:
    """A key press on the button must count as a user action, so that the popup blocker allows the window."""
    widget.sign_in_by_key(social, key).approve()

    widget.wait_for("member")


@pytest.mark.needs("social")
@pytest.mark.contract("4.6/popup")
def test_the_window_opens_within_the_click(shop: ShopPage, context: BrowserContext, social: str) -> None:
    """F161, F162: the popup must open before the click's handler returns, as WebKit requires, and keep its opener."""
    context.add_init_script(WATCH_OPEN)
    widget = shop.open()
    button = widget.social_button(social)

    with shop.page.expect_popup() as popup:
        opened = button.evaluate("(button) => { button.click(); return opened.map(({ features }) => features); }")
    ConsentPage(popup.value).approve()
    widget.wait_for("member")

    (features,) = opened
    assert "popup" in features
    assert "noopener" not in features
    assert "noreferrer" not in features


@realistically
@pytest.mark.needs("social")
def test_a_double_click_opens_one_window(widget: WidgetPage, social: str) -> None:
    """F170: the second click of a double click must change nothing, so that only one window opens."""
    button = widget.social_button(social)

    with widget.page.expect_popup() as popup:
        button.evaluate(DOUBLE_CLICK)
    ConsentPage(popup.value).approve()
    widget.wait_for("member")

    assert len(widget.events("oauth:started")) == 1
    assert widget.events("oauth:failed") == []


# Blocked


@realistically
@pytest.mark.needs("social")
@pytest.mark.contract("4.6/popup", "D-12/always-chat")
def test_a_blocked_window_is_told_and_opened_by_the_notice(widget: WidgetPage, social: str) -> None:
    """F160: if the browser blocks the popup, the widget must say so, and a button must open the popup."""
    address = widget.page.url

    widget.press_after_another_popup(social)
    assert widget.wait_for_event("oauth:failed") == {"social": social, "code": "popup_blocked"}
    expect(widget.panel.get_by_role("alert")).to_contain_text(BLOCKED)
    assert widget.page.url == address
    widget.reopen().approve()
    widget.wait_for("member")

    expect(widget.panel.get_by_role("alert")).to_be_hidden()


@pytest.mark.needs("social")
@pytest.mark.contract("D-12/always-chat")
def test_a_page_without_windows_is_told_so_and_chats_on(
    shop: ShopPage, business: Business, witness: Witness, social: str
) -> None:
    """F160: if `window.open` opens nothing, the visitor must be told and can chat. The button must work later."""
    shop.page.add_init_script(BLOCK_OPEN)
    visitor = Visitor(shop.open(), business, witness)
    widget, address = visitor.widget, shop.page.url

    widget.social_button(social).click()
    visitor.is_told(social, "popup_blocked", BLOCKED)
    widget.reopen_button.click()
    widget.wait_for_event("oauth:failed", count=2)

    assert shop.page.url == address
    assert witness.asked(business.oauth_start_path(social)) == []
    shop.page.evaluate("() => { window.open = window.allowed; }")
    widget.reopen().approve()
    widget.wait_for("member")


# Closed early, or replaced


@pytest.mark.only_browser("chromium", because="other browsers: a window closed while blank looks cut off")
@pytest.mark.needs("social")
def test_whoever_closes_a_window_that_stays_blank_is_not_told_that_it_was_lost(
    shop: ShopPage, context: BrowserContext, business: Business, witness: Witness, social: str
) -> None:
    """F163: if a person closes a popup that is still blank, the popup must be reported as closed and not as lost."""
    start = business.oauth_start_path(social)
    context.route(lambda url: urlsplit(url).path == start, lambda _held: None)
    context.add_init_script(WATCH_OPEN)
    visitor = Visitor(shop.open(), business, witness)

    visitor.widget.social_button(social).click(no_wait_after=True)
    visitor.widget.wait_for_event("oauth:started")
    shop.page.evaluate("() => { opened[0].popup.close(); }")

    visitor.is_told(social, "popup_closed", CLOSED)
    context.unroute_all()
    visitor.comes_in(social)


@pytest.mark.needs("social:github", "social:google")
def test_a_second_provider_closes_the_window_of_the_first(shop: ShopPage, witness: Witness, business: Business) -> None:
    """F170: a click on a second provider must close the first provider's popup, and the second login must succeed."""
    widget = shop.open()
    first = widget.sign_in_with("google").page
    widget.wait_for_event("oauth:opened")

    second = widget.sign_in_with("github")
    widget.wait_for_event("oauth:opened", count=2)
    second.approve()
    widget.wait_for("member")

    assert first.is_closed()
    assert widget.uid.startswith("github:")
    assert widget.events("oauth:failed") == []
    assert [event["social"] for event in widget.events("oauth:opened")] == ["google", "github"]


# Switched off meanwhile


@pytest.mark.needs("change", "clock", "search", "social")
@pytest.mark.contract("D-03/start-pages", "7/not-enabled-404", "D-12/always-chat")
def test_a_provider_that_was_switched_off_is_told_and_its_button_goes(
    advance: Advance, page: Page, make_business: MakeBusiness, stack: Stack, witness: Witness, *, social: str
) -> None:
    """F178: a disabled social login must be reported, and its button must disappear with the next configuration."""
    business = make_business(get_token=False, service_keys=[social])
    visitor = Visitor(ShopPage(page, business).open(), business, witness)
    button = visitor.widget.social_button(social)
    off = {social: SocialKeys("service", enabled=False)}
    stack.service_lab.change_provider(business.provider.id, socials=off)
    stack.service_lab.reset()

    button.click()
    visitor.is_told(social, "social_disabled", "This way of signing in is no longer available.")
    with visitor.widget.expect_event("token:refreshed"):  # a visitor's token may expire in this minute
        advance(51)
    advance(CONFIGURATION_SECONDS - 50)
    visitor.widget.search("still here")

    expect(visitor.widget.panel.get_by_role("button", name="Sign in", exact=True)).to_be_hidden()


@pytest.mark.needs("social")
@pytest.mark.contract("4.6/popup", "D-09/accepted-once")
def test_a_result_that_meets_a_busy_page_counts(widget: WidgetPage, social: str) -> None:
    """The message of the popup must count even if the page is busy until the popup has closed."""
    consent = widget.sign_in_with(social)
    widget.wait_for_event("oauth:opened")

    widget.page.evaluate(BUSY)
    consent.approve()

    widget.wait_for("member")


@pytest.mark.needs("social")
@pytest.mark.contract("4.6/popup")
def test_a_page_that_is_loaded_again_takes_the_sign_in(page: Page, make_business: MakeBusiness, social: str) -> None:
    """F209: a page that is reloaded while the popup is open must still complete the login."""
    shop = ShopPage(page, make_business(get_token=False, service_keys=[social]))
    window = shop.open().sign_in_with(social).wait()

    shop.reload()
    window.approve()

    shop.widget.wait_for("member")
    assert shop.widget.uid.startswith(f"{social}:")
