"""Tests that the widget and all pages work with a keyboard, a screen reader and the user's display preferences."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from chatkey_e2e import axe, needs
from chatkey_e2e.business import Business
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import MakeBusiness, NewContext
from chatkey_e2e.scenarios.openers import Opener
from chatkey_e2e.scenarios.test_languages import wish_for
from chatkey_protocol.names import SOCIALS
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

WIDGET = "chatkey-widget"
TABS = 30
"""Maximum number of Tab presses to move across the widget."""

IS_ABOVE = """(element) => {
  const { activeElement } = element.getRootNode();
  return Boolean(activeElement?.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING);
}"""
FOCUSED = "() => document.activeElement?.shadowRoot?.activeElement ?? document.activeElement"


@pytest.fixture
def business(make_business: MakeBusiness, social: str) -> Business:
    """A business whose visitors may sign in with a social login."""
    return make_business(get_token=False, service_keys=[social])


# what axe finds


@pytest.mark.needs("social", "search", "calls", "widget-texts")
@pytest.mark.contract("D-12/accessible")
@pytest.mark.parametrize("locale", ["en", "ar"])
def test_axe_finds_nothing_serious_in_the_widget(page: Page, shop: ShopPage, locale: str, social: str) -> None:
    """axe must find no serious problem in the widget, in any of its views, in light and dark colours."""
    wish_for(page, locale)
    shop.open()
    stages = {"closed": axe.found_in_both_schemes(page, WIDGET)}
    panel = open_by_keyboard(page)
    panel.get_by_role("textbox").fill("Is anybody there?")
    page.keyboard.press("Enter")
    expect(panel.locator('li[data-state="sent"]')).to_have_count(1)
    stages["chat"] = axe.found_in_both_schemes(page, WIDGET)
    panel.locator("header button").first.click()
    expect(panel.locator(".call-bar")).to_be_visible()
    stages["call"] = axe.found_in_both_schemes(page, WIDGET)
    panel.locator(".hang-up").click()
    needs.note("calls")
    needs.note("search")
    panel.locator('header button[aria-pressed="false"]').click()
    panel.get_by_role("searchbox").fill("anybody")
    page.keyboard.press("Enter")
    expect(panel.get_by_role("list").filter(has_text="anybody").last).to_be_visible()
    stages["search"] = axe.found_in_both_schemes(page, WIDGET)
    page.evaluate("() => { window.open = () => null; }")
    panel.locator(".identity button").click()
    panel.locator(".social").first.click()
    expect(panel.get_by_role("alert")).to_be_visible()
    stages["sign-in and notice"] = axe.found_in_both_schemes(page, WIDGET)

    assert {stage: found for stage, found in stages.items() if found} == {}


@pytest.mark.needs("kit")
@pytest.mark.contract("D-12/accessible")
def test_axe_finds_nothing_serious_on_the_shops_login_page(page: Page, make_business: MakeBusiness) -> None:
    """axe must find no serious problem on the shop's page before sign-in, or after sign-in with the member's avatar."""
    shop = ShopPage(page, make_business())
    widget = shop.open()
    before = axe.found_in_both_schemes(page)

    shop.sign_in()
    widget.open()

    assert (before, axe.found_in_both_schemes(page)) == ([], [])


@pytest.mark.needs("kit")
@pytest.mark.contract("D-12/accessible")
def test_axe_finds_nothing_serious_on_any_consent_page(page: Page, make_business: MakeBusiness) -> None:
    """axe must find no serious problem on the consent page of any provider, with the lab's menu open."""
    business = make_business(get_token=False, service_keys=list(SOCIALS))

    pages = {}
    for social in SOCIALS:
        popup = Opener(page, business, social).at(business.origin).start()
        popup.get_by_text("Misbehave", exact=True).click()
        pages[social] = axe.found_in_both_schemes(popup)
        popup.close()

    assert {social: found for social, found in pages.items() if found} == {}


@pytest.mark.needs("kit")
@pytest.mark.contract("D-12/accessible", "D-09/page")
@pytest.mark.parametrize("locale", ["en-GB", "ar"])
def test_axe_finds_nothing_serious_on_the_callback_page(
    new_context: NewContext, business: Business, locale: str, social: str
) -> None:
    """axe must find no serious problem on the callback page: after a cancellation, without an opener, right to left."""
    page = new_context(locale=locale).new_page()
    address = Opener(page, business, social).address()

    pages = {}
    for button in ("Cancel", "Continue"):
        page.goto(address)
        page.get_by_role("button", name=button).click()
        page.wait_for_url("**/callback?**")
        pages[button] = axe.found_in_both_schemes(page)

    assert {button: found for button, found in pages.items() if found} == {}
    assert page.evaluate("() => document.documentElement.dir") == ("rtl" if locale == "ar" else "ltr")


@pytest.mark.needs("kit")
@pytest.mark.contract("D-12/accessible")
def test_axe_finds_nothing_serious_in_the_agents_panel(
    page: Page, stack: Stack, shop: ShopPage, agent: AgentPage
) -> None:
    """axe must find no serious problem on the agent panel's sign-in page or in a conversation."""
    page.goto(f"{stack.service.browser_url}/agent")
    at_the_door = axe.found_in_both_schemes(page)
    widget = shop.open()
    widget.send("Hello")
    agent.open_conversation(widget.uid)
    agent.lines(1)

    assert (at_the_door, axe.found_in_both_schemes(agent.page)) == ([], [])


@pytest.mark.needs("kit")
@pytest.mark.contract("D-12/accessible")
def test_axe_finds_nothing_serious_in_the_fake_providers_lab(
    page: Page, stack: Stack, new_context: NewContext, business: Business, social: str
) -> None:
    """axe must find no serious problem on the lab's pages or in a login's timeline."""
    shop = ShopPage(new_context().new_page(), business)
    shop.open().sign_in_with(social).approve()
    shop.widget.wait_for("member")
    addresses = [
        f"{stack.provider.browser_url}/",
        f"{stack.provider.browser_url}/lab/",
        stack.provider_lab.page_of(stack.provider_lab.flows()[0].id),
    ]

    pages = {}
    for address in addresses:
        page.goto(address)
        pages[address] = axe.found_in_both_schemes(page)

    assert {address: found for address, found in pages.items() if found} == {}


@pytest.mark.needs("kit")
@pytest.mark.contract("D-12/accessible")
def test_axe_finds_nothing_serious_in_a_report(page: Page, make_business: MakeBusiness, tmp_path: Path) -> None:
    """axe must find no serious problem in a complete HTML report of `chatkey check` that contains a failure."""
    business = make_business()
    report = tmp_path / "report.html"
    command = [sys.executable, "-m", "chatkey", "check", f"{business.url}chat/token", "--ca"]
    command += [str(business.stack.ca), "--provider-id", "another", "--secret-env", "CHAT_SECRET"]
    command += ["--login-url", f"{business.url}login", "--login-field", "person=u-1001"]
    command += ["--format", "html", "--output", str(report)]
    environ = {**os.environ, "CHAT_SECRET": business.provider.secret_key}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr

    page.goto(report.as_uri())
    page.evaluate("() => { for (const each of document.querySelectorAll('details')) each.open = true; }")

    assert axe.found_in_both_schemes(page) == []


# the keyboard


@pytest.mark.needs("social", "search", "widget-texts")
@pytest.mark.contract("D-12/accessible")
def test_the_widget_works_by_keyboard_alone(page: Page, shop: ShopPage, social: str) -> None:
    """People must be able to write, search, sign in, sign out and close with the keyboard and a visible focus."""
    widget = shop.open()
    keyboard = page.keyboard

    panel = open_by_keyboard(page)
    expect(panel.get_by_role("textbox", name="Message")).to_be_focused()
    keyboard.type("Is anybody there?")
    keyboard.press("Enter")
    expect(panel.locator('li[data-state="sent"]')).to_have_count(1)

    needs.note("search")
    tab_to(page, panel.get_by_role("button", name="Search", exact=True))
    keyboard.press("Enter")
    expect(panel.get_by_role("searchbox")).to_be_focused()
    keyboard.type("anybody")
    keyboard.press("Enter")
    expect(panel.get_by_text("1 found")).to_be_visible()
    tab_to(page, panel.get_by_role("button", name="Back to the conversation").filter(visible=True))
    keyboard.press("Space")
    expect(panel.get_by_role("textbox", name="Message")).to_be_focused()

    tab_to(page, panel.get_by_role("button", name="Sign in", exact=True))
    keyboard.press("Enter")
    expect(panel.get_by_role("heading", name="Sign in")).to_be_focused()
    tab_to(page, panel.get_by_role("button", name=f"Continue with {SOCIALS[social].title}"))
    with page.expect_popup() as popup:
        keyboard.press("Enter")
    approve = popup.value.get_by_role("button", name="Continue")
    tab_to(popup.value, approve)
    popup.value.keyboard.down("Enter")  # the window closes before the key is released
    widget.wait_for("member")

    tab_to(page, panel.get_by_role("button", name="Sign out"))
    keyboard.press("Enter")
    widget.wait_for("visitor")
    keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="Open chat")).to_be_focused()


# display preferences

emulates_preferences = pytest.mark.skip_browser("firefox", because="Firefox's driver cannot emulate user preferences")


@emulates_preferences
@pytest.mark.needs("social", "widget-texts")
@pytest.mark.contract("D-12/accessible")
def test_nothing_moves_for_whoever_asks_for_less_motion(page: Page, shop: ShopPage, social: str) -> None:
    """With `prefers-reduced-motion`, no element of the widget may have an animation or a transition."""
    page.emulate_media(reduced_motion="no-preference")
    shop.open().open()
    moving = motions(page)

    page.emulate_media(reduced_motion="reduce")

    assert moving
    assert motions(page) == []


@emulates_preferences
@pytest.mark.needs("social", "widget-texts")
@pytest.mark.contract("D-12/accessible")
def test_the_widget_is_dark_for_whoever_prefers_it(page: Page, shop: ShopPage, social: str) -> None:
    """With `prefers-color-scheme: dark`, the panel and its form controls must be dark, even on a light page."""
    page.emulate_media(color_scheme="light")
    panel = shop.open().open()
    light = look(panel)

    page.emulate_media(color_scheme="dark")

    assert light == ("light", "rgb(255, 255, 255)")
    assert look(panel) == ("dark", "rgb(23, 25, 31)")


@emulates_preferences
@pytest.mark.needs("social", "widget-texts")
@pytest.mark.contract("D-12/accessible")
def test_the_widget_has_edges_where_the_reader_chooses_the_colours(page: Page, shop: ShopPage, social: str) -> None:
    """With forced colours, which remove backgrounds, buttons must have a border."""
    panel = shop.open().open()
    before = border(panel.get_by_role("button", name="Send"))

    page.emulate_media(forced_colors="active")

    assert (before, border(panel.get_by_role("button", name="Send"))) == ("0px", "1px")


def open_by_keyboard(page: Page) -> Locator:
    """Tab to the launcher, press Enter, and return the panel."""
    tab_to(page, page.locator(f"{WIDGET} .launcher"))
    page.keyboard.press("Enter")
    return page.get_by_role("dialog")


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab or Shift+Tab until this element has the focus, and check that the focus is visible."""
    key = "Shift+Tab" if wanted.evaluate(IS_ABOVE) else "Tab"
    for _ in range(TABS):
        page.keyboard.press(key)
        if wanted.evaluate("(element) => element === element.getRootNode().activeElement"):
            assert page.evaluate_handle(FOCUSED).evaluate("(element) => element.matches(':focus-visible')")
            return
    raise AssertionError(f"the keyboard does not reach {wanted}")


def motions(page: Page) -> list[str]:
    """Return the class names of the widget's elements that have an animation or a transition."""
    found: list[str] = page.locator(f"{WIDGET} .root").evaluate(
        """(root) => [...root.querySelectorAll("*")].filter((each) => {
          const { animationName, transitionDuration } = getComputedStyle(each);
          return animationName !== "none" || transitionDuration.split(", ").some((time) => time !== "0s");
        }).map((each) => each.className)"""
    )
    return found


def look(panel: Locator) -> tuple[str, str]:
    """Return the panel's colour scheme and background colour."""
    scheme, ground = panel.evaluate(
        """(panel) => {
          const { colorScheme, backgroundColor } = getComputedStyle(panel);
          return [colorScheme, backgroundColor];
        }"""
    )
    return scheme, ground


def border(button: Locator) -> str:
    """Return the width of a button's border."""
    width: str = button.evaluate("(button) => getComputedStyle(button).borderTopWidth")
    return width
