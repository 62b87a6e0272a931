"""Tests the appearance of the widget: authors of messages, links, logos of social providers, and avatars."""

import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from chatkey_e2e.business import Business
from chatkey_e2e.clerk import Clerk
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import MakeBusiness
from chatkey_protocol.names import SOCIALS

pytestmark = pytest.mark.long

HEAR_VIOLATIONS = """window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));"""

HOSTILE = (
    "javascript:alert(1) https://bank.example@evil.test/ https://m\u00fcller.example/ <a href=//evil.test>here</a>"
)


@pytest.fixture
def everywhere(make_business: MakeBusiness) -> Business:
    """A business with all nine social logins."""
    return make_business(get_token=False, service_keys=list(SOCIALS))


def seen(part: Locator) -> Locator:
    """Return the visible elements, without those that are only for screen readers."""
    return part.filter(visible=True)


@pytest.mark.needs("kit")
def test_name_and_time_stand_once_for_what_one_author_wrote(widget: WidgetPage, agent: AgentPage) -> None:
    """Consecutive messages of one author must show name and time once.

    Screen readers must get the author of each message.
    """
    widget.send("Good morning")
    widget.send("Is the oak table in stock?")
    agent.open_conversation(widget.uid)
    agent.answer("Good morning")
    agent.answer("Yes, two of them")
    widget.lines(4)

    log = widget.panel.get_by_role("log")

    expect(seen(log.locator("time"))).to_have_count(2)
    expect(seen(log.locator(".avatar"))).to_have_text(["LA"])
    expect(log.locator("li > .sender")).to_have_text(["You", "You", "lab agent", "lab agent"])
    expect(widget.panel.locator(".greeting")).to_have_text("Hello! How can we help?")


@pytest.mark.needs("agent")
def test_an_address_in_a_message_opens_a_page_that_knows_nothing_of_the_shop(
    context: BrowserContext, widget: WidgetPage, clerk: Clerk, business: Business
) -> None:
    """F216: a link must open in a new tab without opener and referrer, and a deceptive address must stay plain text."""
    address = business.add_page("<!doctype html><title>Oak</title><h1>Oak</h1>")
    widget.send(HOSTILE)

    clerk.answer(widget.uid, f"Look ({address}).")

    link = widget.panel.get_by_role("log").get_by_role("link")
    expect(link).to_have_text([address])
    assert widget.lines(2) == [HOSTILE, f"Look ({address})."]
    with context.expect_page() as opened:
        link.click()
    expect(opened.value).to_have_title("Oak")
    assert opened.value.evaluate("() => [opener, document.referrer]") == [None, ""]


@pytest.mark.needs("kit")
def test_an_address_can_be_followed_in_the_agents_panel_too(widget: WidgetPage, agent: AgentPage) -> None:
    """The agent panel must make links by the same rules as the widget, so that a deceptive address stays plain text."""
    widget.send(f"{HOSTILE} and https://shop.example/oak")

    agent.open_conversation(widget.uid)

    expect(agent.page.get_by_role("log").get_by_role("link")).to_have_text(["https://shop.example/oak"])


@pytest.mark.needs(*(f"social:{social}" for social in SOCIALS))
def test_every_social_provider_has_its_sign_under_a_strict_policy(page: Page, everywhere: Business) -> None:
    """Every social button must have an inline logo that screen readers ignore, and that a strict policy allows."""
    page.add_init_script(HEAR_VIOLATIONS)
    shop = ShopPage(page, everywhere)
    widget = shop.open(csp="strict")

    assert widget.offered_socials() == [social.title.lower() for social in SOCIALS.values()]

    signs = widget.panel.locator(".social > svg.logo")
    expect(signs).to_have_count(len(SOCIALS))
    assert {sign.get_attribute("aria-hidden") for sign in signs.all()} == {"true"}
    assert {sign.evaluate("(sign) => sign.clientWidth * sign.clientHeight > 400") for sign in signs.all()} == {True}
    assert page.evaluate("() => violations") == []


@pytest.mark.parametrize("comes", [True, False], ids=["comes", "never-comes"])
def test_a_picture_that_does_not_come_leaves_the_initials(context: BrowserContext, shop: ShopPage, comes: bool) -> None:
    """F204: an avatar that cannot be loaded must be replaced by initials, without a broken image."""
    if not comes:
        context.route(re.compile(r"/people/.*\.svg"), lambda route: route.fulfill(status=404))
    shop.open()

    panel = shop.sign_in().open()

    expect(panel.get_by_text("Signed in as Ada Lindqvist")).to_be_visible()
    face = panel.locator(".identity .avatar")
    expect(seen(face.locator("img"))).to_have_count(int(comes))
    expect(face).to_have_text("" if comes else "AL")
