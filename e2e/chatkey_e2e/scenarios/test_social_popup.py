"""Tests sign-in popups that return no result: closed, left open, or separated from the page."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from chatkey_e2e.business import Business
from chatkey_e2e.misbehaviour import Faults
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import MakeBusiness, NewContext
from chatkey_e2e.scenarios.openers import says
from chatkey_e2e.scenarios.visitors import CLOSED, FAILED, LOST, Visitor
from chatkey_oauth.client import Leg
from chatkey_stack.patience import PATIENCE
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

INSTAGRAM = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 8; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
    "Chrome/149.0.0.0 Mobile Safari/537.36 Instagram 390.0.0.0 Android"
)
LAB_WAITS = 30
"""Seconds; the lab's own maximum for `wait`."""


@pytest.fixture
def business(make_business: MakeBusiness, social: str) -> Business:
    """A business whose visitors may sign in with a social login, through the business's own keys."""
    return make_business(get_token=False, own_keys=[social])


# Closed by the person


@pytest.mark.needs("own-keys", "social")
@pytest.mark.contract("4.6/popup", "D-09/lost", "D-12/always-chat")
def test_whoever_closes_the_popup_may_press_the_button_again(visitor: Visitor, social: str) -> None:
    """F163: if a person closes the popup at once, the widget must say so, and the button must work again."""
    visitor.closes(visitor.asks(social).page)

    visitor.is_told(social, "popup_closed", CLOSED)
    visitor.comes_in(social)


@pytest.mark.parametrize(
    ("fault", "options", "words"),
    [
        ("error-page", {}, "This application is blocked for now."),
        ("status-500", {"leg": "authorize"}, "500 Internal Server Error"),
    ],
)
@pytest.mark.needs("own-keys", "social")
def test_an_error_page_of_the_provider_instead_of_a_way_back(
    visitor: Visitor, faults: Faults, *, fault: str, options: dict[str, Any], words: str, social: str
) -> None:
    """F172: if the provider shows an error page, the popup must stay open until it is closed.

    The next login must work.
    """
    faults.arm(fault, provider=social, **options)

    popup = visitor.presses(social)

    expect(popup.get_by_text(words)).to_be_visible()
    visitor.closes(popup)
    visitor.is_told(social, "popup_closed", CLOSED)
    visitor.comes_in(social)


@pytest.mark.needs("own-keys", "social")
def test_a_popup_that_the_provider_leaves_open(visitor: Visitor, faults: Faults, social: str) -> None:
    """F172: if the provider shows no way back after the approval, closing the popup must end the login."""
    faults.arm("popup-left-open", provider=social)

    consent = visitor.asks(social)
    consent.approve()

    expect(consent.page.get_by_text("You can close this window.")).to_be_visible()
    visitor.closes(consent.page)
    visitor.is_told(social, "popup_closed", CLOSED)
    visitor.comes_in(social)


@pytest.mark.needs("own-keys", "social")
def test_a_provider_that_never_answers(visitor: Visitor, faults: Faults, stack: Stack, social: str) -> None:
    """F172: if the provider never answers, closing the popup must end the login."""
    faults.arm("hang", provider=social, leg="consent")

    consent = visitor.asks(social)
    visitor.looks_around()
    consent.approve_and_wait_in_vain()
    client_id = visitor.business.own_keys[social].client_id
    assert stack.provider_lab.requests(client_id=client_id, leg=Leg.CONSENT, wait=min(PATIENCE, LAB_WAITS))

    consent.page.close()
    visitor.is_told(social, "popup_closed", CLOSED)
    visitor.comes_in(social)


@pytest.mark.needs("own-keys", "social")
def test_a_provider_that_breaks_every_connection_off(visitor: Visitor, faults: Faults, social: str) -> None:
    """F172: if the connection to the provider breaks, the next login must work as soon as the provider is back."""
    faults.arm("reset", provider=social, leg="authorize", times=None)

    popup = visitor.presses(social)
    visitor.looks_around()
    faults.disarm()
    visitor.closes(popup)
    visitor.is_told(social, "popup_closed", CLOSED)
    visitor.comes_in(social)


# Back at the service, which cannot tell the page


@pytest.mark.needs("own-keys", "social")
@pytest.mark.contract("D-03/state-400", "5.7/state")
@pytest.mark.parametrize(
    ("fault", "code"), [("state-dropped", "parameter_missing"), ("state-altered", "state_invalid")]
)
def test_without_its_state_a_sign_in_is_told_in_the_popup_only(
    visitor: Visitor, faults: Faults, fault: str, code: str, social: str
) -> None:
    """F173: without a valid state, the service cannot notify the page. The popup must show the error."""
    faults.arm(fault, provider=social)

    consent = visitor.asks(social)
    consent.approve()

    says(consent.page, visitor.business.stack, "Sign-in failed", role="heading")
    says(consent.page, visitor.business.stack, code)
    visitor.closes(consent.page)
    visitor.is_told(social, "popup_closed", CLOSED)
    visitor.comes_in(social)


@pytest.mark.needs("own-keys", "social")
def test_a_way_back_that_belongs_to_another_provider(
    visitor: Visitor, faults: Faults, stack: Stack, social: str
) -> None:
    """F173: a state must be refused at the callback of another provider, and the popup must show the error."""
    application = visitor.business.own_keys[social]
    stack.provider_lab.add_client(
        social,
        redirect_uris=[stack.callback(social), stack.callback("gitlab")],
        **application.for_provider(),
    )
    faults.arm("other-redirect-uri", provider=social)

    consent = visitor.asks(social)
    consent.approve()

    says(consent.page, stack, "state_invalid")
    visitor.closes(consent.page)
    visitor.is_told(social, "popup_closed", CLOSED)
    visitor.comes_in(social)


@pytest.mark.needs("own-keys", "social")
@pytest.mark.contract("D-09/accepted-once", "5.7/state")
def test_a_way_back_with_the_state_of_somebody_elses_sign_in(
    visitor: Visitor, faults: Faults, new_context: NewContext, social: str
) -> None:
    """F175: a callback with the state of another person's login must make neither browser a member."""
    other = ShopPage(new_context().new_page(), visitor.business).open()
    theirs = other.sign_in_with(social)
    faults.arm("state-swapped", provider=social)

    consent = visitor.asks(social)
    visitor.looks_around()
    with consent.page.expect_event("close"):
        consent.approve()

    visitor.is_told(social, "popup_closed", CLOSED)
    theirs.approve()
    assert other.wait_for_event("oauth:failed")["code"] == "state_used"
    expect(other.panel.get_by_role("alert")).to_have_text(FAILED)
    visitor.comes_in(social)


# Cut off from the page


@pytest.mark.needs("own-keys", "social")
@pytest.mark.contract("D-09/lost", "D-12/always-chat")
@pytest.mark.parametrize(
    ("policy", "where"),
    [
        ("same-origin", "entrance"),
        ("same-origin", "consent"),
        ("same-origin-allow-popups", "consent"),
        pytest.param(
            "noopener-allow-popups",
            "consent",
            marks=pytest.mark.only_browser(
                "chromium", because="other browsers do not know the policy noopener-allow-popups"
            ),
        ),
    ],
)
def test_a_popup_that_its_first_page_cuts_off(
    visitor: Visitor, faults: Faults, policy: str, where: str, social: str
) -> None:
    """F165: if the provider's first page separates the popup, the page must report it at once."""
    faults.arm(f"coop-{policy}", provider=social, page=where)

    consent = visitor.asks(social)

    visitor.is_told(social, "popup_lost", LOST)
    consent.approve()
    says(consent.page, visitor.business.stack, "The chat cannot be reached", role="heading")
    visitor.keeps_nothing()
    visitor.comes_in(social)


@pytest.mark.needs("own-keys", "social")
def test_a_popup_that_the_way_back_cuts_off(visitor: Visitor, faults: Faults, social: str) -> None:
    """F165: if the return page separates the popup, the popup must be reported as closed. The next login must work."""
    faults.arm("coop-same-origin", provider=social, page="return")

    consent = visitor.asks(social)
    visitor.looks_around()
    consent.approve()

    says(consent.page, visitor.business.stack, "The chat cannot be reached", role="heading")
    visitor.is_told(social, "popup_closed", CLOSED, members=1)
    visitor.comes_in(social)


# Browsers inside apps, which open no second window


@pytest.mark.needs("own-keys", "social")
@pytest.mark.contract("D-09/lost")
def test_a_browser_that_replaces_the_page_leads_back_to_it(page: Page, business: Business, social: str) -> None:
    """F023: if the sign-in opens in place of the page, the last page must say so and link to the page's origin."""
    page.add_init_script("window.open = (url) => { location.href = url; return null; };")
    button = ShopPage(page, business).open().social_button(social)

    button.click(no_wait_after=True)
    ConsentPage(page).wait().approve()

    says(page, business.stack, "The chat cannot be reached", role="heading")
    if business.stack.is_ours:
        page.get_by_role("link", name="Back to ").click()
        page.wait_for_url(f"{business.origin}/")


@pytest.mark.needs("own-keys", "social")
def test_an_app_that_replaces_pages_is_known_by_its_name(
    new_context: NewContext, business: Business, social: str
) -> None:
    """F023: the sign-in page must offer the person's own browser, with an address that the system opens there."""
    page = new_context(user_agent=INSTAGRAM).new_page()
    widget = ShopPage(page, business).open()

    widget.open()
    widget.part("sign-in").click()

    expect(widget.part(f"social-{social}")).to_be_hidden()
    way_out = page.get_by_role("link", name="Open in your browser")
    address = page.evaluate("location.href").partition("://")[2]
    expect(way_out).to_have_attribute("href", f"intent://{address}#Intent;scheme=https;end")
    expect(page.get_by_text("To sign in, open this page in your browser.")).to_be_visible()
