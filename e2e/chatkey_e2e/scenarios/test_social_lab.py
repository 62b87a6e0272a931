"""Tests faults of the fake provider: armed for one browser, chosen on the consent page, shown in the timeline."""

from typing import Literal
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, ViewportSize

from chatkey_e2e.business import Business
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import MakeBusiness, MakeFaults, NewContext
from chatkey_e2e.scenarios.visitors import FAILED, Visitor
from chatkey_oauth.client import Scope
from chatkey_protocol.names import OAUTH_CALLBACK_PATH
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

PHONE = ViewportSize(width=390, height=844)

WAY = ["authorize", "consent", "code", "token", "profile"]
"""The steps of a successful login."""

TABS = 60
"""Maximum number of Tab presses to move across the consent page."""


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    """A business whose visitors may sign in with Google, through the business's own keys."""
    return make_business(get_token=False, own_keys=["google"])


@pytest.mark.needs("member-records", "own-keys", "social:google")
@pytest.mark.contract("D-14/faults")
def test_a_fault_of_one_browser_does_not_disturb_another(
    business: Business, new_context: NewContext, make_faults: MakeFaults, stack: Stack
) -> None:
    """If two people sign in at the same time, a fault for one browser must not affect the other browser."""
    contexts = new_context(), new_context()
    unlucky, lucky = (ShopPage(context.new_page(), business).open() for context in contexts)
    make_faults(contexts[0]).arm("bad-signature", provider="google", times=None)

    popups = unlucky.sign_in_with("google"), lucky.sign_in_with("google")
    popups[0].approve("Omar Haddad")
    popups[1].approve("Nia Phone")

    lucky.wait_for("member")
    assert unlucky.wait_for_event("oauth:failed")["code"] == "oauth_failed"
    assert unlucky.identity["identity"] == "visitor"
    assert [record["name"] for record in stack.service_lab.members(business.provider.id)] == ["Nia Phone"]


@pytest.mark.needs("own-keys", "social:google")
def test_a_fault_is_chosen_on_the_consent_page_by_keyboard(visitor: Visitor) -> None:
    """A fault must be selectable on the consent page with the keyboard, and apply to this login only."""
    consent = visitor.asks("google")
    keyboard = consent.page.keyboard

    tab_to(consent, consent.menu)
    keyboard.press("Enter")
    tab_to(consent, consent.fault("wrong-nonce"))
    keyboard.press("Space")
    tab_to(consent, consent.continue_button)
    keyboard.down("Enter")  # the window closes before the key is released

    visitor.is_told("google", "oauth_failed", FAILED)
    visitor.comes_in("google")


@pytest.mark.needs("own-keys", "social:google")
def test_the_timeline_of_a_login_is_a_page(visitor: Visitor, stack: Stack) -> None:
    """The timeline must show every step of a login, fit a phone, and contain no code or state."""
    visitor.comes_in("google")

    page = timeline_of(visitor, stack)

    timeline = page.get_by_role("list", name="Timeline")
    steps = timeline.get_by_role("heading").all_inner_texts()
    way = page.get_by_role("list", name="Progress").get_by_role("listitem").all_inner_texts()
    assert [step.partition("+")[0].strip().lower() for step in steps] == WAY
    assert [" ".join(leg.split()) for leg in way] == [f"✓ {leg} : went well" for leg in WAY]
    assert "returned unchanged" in timeline.inner_text()
    assert page.locator("html").evaluate("({ scrollWidth, clientWidth }) => scrollWidth - clientWidth") == 0
    (way_back,) = visitor.witness.asked(OAUTH_CALLBACK_PATH.format(social="google"))
    given = parse_qs(urlsplit(way_back.url).query)
    assert [name for name in ("state", "code") if given[name][0] in page.content()] == []


@pytest.mark.skip_browser("firefox", because="Firefox's driver cannot emulate user preferences")
@pytest.mark.needs("own-keys", "social:google")
def test_the_timeline_of_a_login_is_light_or_dark(visitor: Visitor, stack: Stack) -> None:
    """The timeline must follow the person's preference for light or dark colours."""
    visitor.comes_in("google")

    page = timeline_of(visitor, stack)

    assert background(page, "light") != background(page, "dark")


def timeline_of(visitor: Visitor, stack: Stack) -> Page:
    """Open the timeline of the visitor's only login in the size of a phone."""
    (flow,) = stack.provider_lab.flows(Scope(client_id=visitor.business.own_keys["google"].client_id))
    page = visitor.widget.page.context.new_page()
    page.set_viewport_size(PHONE)
    page.goto(stack.provider_lab.page_of(flow.id))
    return page


def background(page: Page, scheme: Literal["light", "dark"]) -> str:
    """Return the page's background colour in this colour scheme."""
    page.emulate_media(color_scheme=scheme)
    ground: str = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
    return ground


def tab_to(consent: ConsentPage, wanted: Locator) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(TABS):
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
        consent.page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {wanted}")
