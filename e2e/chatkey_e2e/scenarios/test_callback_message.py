"""Tests that the callback page's message goes only to the registered origin, and that the widget accepts no other
message.

The ids `HTM-…` in the names of the tests refer to the rows of refusals.
"""

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from chatkey_e2e import needs
from chatkey_e2e.business import Business
from chatkey_e2e.misbehaviour import Faults
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance, MakeBusiness
from chatkey_e2e.scenarios.openers import (
    EVIL,
    FRAME,
    Opener,
    approve,
    blank,
    callback,
    go,
    keep_popups_open,
    says,
    state_of,
)
from chatkey_e2e.scenarios.visitors import LOST, Visitor
from chatkey_e2e.witness import Witness
from chatkey_stack.stack import Stack
from chatkey_stack.tls import trust

pytestmark = pytest.mark.long

STATE_SECONDS = 600


@pytest.fixture
def business(request: pytest.FixtureRequest, make_business: MakeBusiness, social: str) -> Business:
    return make_business(get_token=False, service_keys=needs.socials_of(request.node, social))


# where the callback page's message goes


@pytest.mark.needs("social")
@pytest.mark.contract("6/post-message", "5.7/verified-origin", "D-08/exact", "4.5/provider-in-state")
def test_htm_021_the_message_goes_to_the_registered_origin_whatever_else_is_asked(
    opener: Opener, business: Business, social: str
) -> None:
    """An opener of another origin must receive nothing, and parameters with another target must be ignored.

    The message must name the provider of the start. Only the state can name it: the callback's address does not.
    """
    targets = {"targetOrigin": "*", "target_origin": EVIL, "redirect_uri": EVIL, "return_to": EVIL}
    opener.at(EVIL)
    popup = opener.start(**targets)
    with popup.expect_event("close"):
        approve(popup)
    assert opener.heard == []

    opener.at(business.origin)
    approve(opener.start(**targets))

    assert opener.token()


@pytest.mark.needs("social")
@pytest.mark.contract("6/post-message", "5.7/verified-origin")
def test_htm_022_an_opener_that_went_to_another_site_hears_nothing(
    opener: Opener, business: Business, social: str
) -> None:
    """If the opener goes to another site while the popup is open, the other site must receive nothing."""
    popup = opener.start()
    opener.at(EVIL)

    with popup.expect_event("close"):
        approve(popup)

    assert opener.heard == []
    opener.at(business.origin)
    approve(opener.start())
    assert opener.token()


@pytest.mark.needs("change", "clock", "social")
@pytest.mark.contract("D-08/exact", "D-03/start-pages")
def test_htm_023_a_loopback_page_under_another_name_is_told_why(
    advance: Advance, opener: Opener, business: Business, stack: Stack, social: str
) -> None:
    """`localhost` and `127.0.0.1` are different origins. The login start endpoint must refuse the login and say why."""
    registered, other = "https://127.0.0.1:8899", "https://localhost:8899"
    stack.service_lab.change_provider(business.provider.id, domains=["127.0.0.1:8899"])
    advance(61)

    opener.at(other)
    refused = opener.start(origin=other)
    says(refused, stack, f"'{other}' is not a registered domain of this chat.")
    refused.close()
    popup = opener.start(origin=registered)
    with popup.expect_event("close"):
        approve(popup)

    assert opener.heard == []
    opener.at(registered)
    approve(opener.start(origin=registered))
    assert opener.token()


# which messages the widget accepts


def forged(
    business: Business, stack: Stack, widget: WidgetPage, social: str, nonce: str, **claims: object
) -> dict[str, object]:
    """Return a forged callback message with an identity token that is valid for this widget."""
    honest = {"uid": f"{social}:mallory", "name": "Mallory", "data": {"auth_provider": social}}
    bound = {"type": "identity", "cnf": {"jkt": widget.jkt}}
    token = business.mint(now=stack.service_lab.now(), **{**honest, **bound, **claims})
    asked = {"type": "wf:oauth", "providerId": business.provider.id, "social": social, "nonce": nonce}
    return {**asked, "token": token}


def nonce_of(witness: Witness, business: Business, social: str) -> str:
    """Return the nonce of the widget's last request to the login start endpoint."""
    start = witness.asked(business.oauth_start_path(social))[-1]
    return parse_qs(urlsplit(start.url).query)["nonce"][0]


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/accepted-once")
def test_htm_029_a_message_of_another_origin_is_ignored(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness, social: str
) -> None:
    """F168: a forged message with a valid nonce and token must be ignored if another frame or the page sends it."""
    widget = shop.open()
    consent = widget.sign_in_with(social)
    message = forged(business, stack, widget, social, nonce_of(witness, business, social))
    with shop.page.expect_event("framenavigated") as navigated:
        shop.page.evaluate(FRAME, blank(shop.page.context, f"{EVIL}/frame"))

    navigated.value.evaluate("(message) => { parent.postMessage(message, '*'); }", message)
    shop.page.evaluate("(message) => { postMessage(message, '*'); }", message)
    consent.approve()
    widget.wait_for("member")

    assert widget.identity["name"] == "Rhea Quill"
    assert widget.events("oauth:failed") == []


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/accepted-once")
def test_htm_030_a_message_of_another_window_of_the_service_is_ignored(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness, social: str
) -> None:
    """F168: a message from the service's origin must be ignored unless the popup that the widget opened has sent it."""
    widget = shop.open()
    consent = widget.sign_in_with(social)
    message = forged(business, stack, widget, social, nonce_of(witness, business, social))
    address = blank(shop.page.context, f"{stack.service.browser_url}/another-window")
    with shop.page.expect_popup() as other:
        shop.page.evaluate("(url) => { window.open(url, 'other', 'popup'); }", address)
    other.value.wait_for_url(address)

    other.value.evaluate("(message) => { opener.postMessage(message, '*'); }", message)
    consent.approve()
    widget.wait_for("member")

    assert widget.identity["name"] == "Rhea Quill"
    assert widget.events("oauth:failed") == []


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/accepted-once")
def test_htm_032_a_second_message_of_the_popup_is_ignored(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness, social: str
) -> None:
    """F169: if the popup sends two valid messages, only the first must count."""
    widget = shop.open()
    popup = widget.sign_in_with(social).page
    nonce = nonce_of(witness, business, social)
    first, second = (
        forged(business, stack, widget, social, nonce, uid=f"{social}:{n}", name=f"Guest {n}") for n in (1, 2)
    )
    go(popup, blank(popup.context, f"{stack.service.browser_url}/played"))

    with popup.expect_event("close"):
        popup.evaluate("(messages) => { for (const m of messages) opener.postMessage(m, '*'); }", [first, second])
    widget.wait_for("member")

    assert widget.uid == f"{social}:1"
    assert len(widget.events("oauth:completed")) == 1


@pytest.mark.needs("social:github", "social:google")
@pytest.mark.contract("D-09/accepted-once")
def test_htm_033_the_result_of_a_login_that_was_replaced_is_not_taken_for_the_other(
    shop: ShopPage, stack: Stack
) -> None:
    """F170: if a login with GitHub replaces a login with Google in the popup, Google's late result must be ignored."""
    keep_popups_open(shop.page.context)
    widget = shop.open()
    of_google = state_of(widget.sign_in_with("google").page)
    popup = widget.sign_in_with("github").page

    go(popup, callback(stack, "google", state=of_google, error="access_denied"))
    says(popup, stack, "The sign-in with Google was cancelled.")
    popup.evaluate("() => { setTimeout(() => history.back()); }")
    ConsentPage(popup).approve()
    widget.wait_for("member")

    assert widget.uid.startswith("github:")
    assert widget.events("oauth:failed") == []


@pytest.mark.needs("clock", "social")
@pytest.mark.contract("5.7/ten-minutes", "D-12/always-chat")
def test_htm_034_a_popup_that_was_open_for_ten_minutes_is_too_late(
    advance: Advance, shop: ShopPage, social: str
) -> None:
    """F066: after ten minutes, the widget must report the expired state, stay a visitor, and allow a new login."""
    widget = shop.open()
    consent = widget.sign_in_with(social)

    advance(STATE_SECONDS + 1)
    consent.approve()
    failed = widget.wait_for_event("oauth:failed")

    assert failed == {"social": social, "code": "state_expired"}
    assert widget.identity["identity"] == "visitor"
    widget.sign_in_with(social).approve()
    widget.wait_for("member")


@pytest.mark.needs("faults", "social")
@pytest.mark.contract("4.6/exchange", "D-12/always-chat")
def test_htm_035_an_identity_token_that_is_refused_is_dropped(
    shop: ShopPage, business: Business, stack: Stack, social: str
) -> None:
    """If the exchange is answered with 401, the widget must drop the token, show an error and stay a visitor."""
    widget = shop.open()
    visitor = widget.uid
    stack.service_lab.arm(where=business.member_token_path, action="status", status=401)

    widget.sign_in_with(social).approve()
    widget.wait_for_event("token:dropped")
    widget.wait_for("visitor")

    assert widget.uid == visitor
    assert widget.stored(business.storage_key) is None
    expect(widget.panel.get_by_text("The sign-in failed. Please try again.")).to_be_visible()
    widget.sign_in_with(social).approve()
    widget.wait_for("member")


@pytest.mark.needs("faults", "social")
@pytest.mark.contract("4.6/exchange")
def test_htm_035_a_service_that_fails_at_the_exchange_is_asked_again(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness, social: str
) -> None:
    """If the exchange is answered with 500, the widget must keep the identity token and try again later."""
    widget = shop.open()
    stack.service_lab.arm(where=business.member_token_path, action="status", status=500, times=2)

    widget.sign_in_with(social).approve()
    widget.wait_for("member")

    assert len(witness.asked(business.member_token_path)) == 3
    assert widget.events("token:dropped") == []


# pages that cut the popup off


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/page", "D-12/always-chat")
def test_htm_019_a_provider_that_cuts_the_popup_off_hangs_nobody(
    shop: ShopPage, faults: Faults, stack: Stack, business: Business, social: str
) -> None:
    """If COOP on the consent page separates the popup, both windows must say so, and the next login must work."""
    widget = shop.open()
    faults.arm("coop-same-origin", provider=social)
    consent = widget.sign_in_with(social)
    failed = widget.wait_for_event("oauth:failed")

    consent.approve()
    says(consent.page, stack, "This window has lost the connection to the page that opened it")

    assert failed["code"] == "popup_lost"
    assert widget.identity["identity"] == "visitor"
    widget.sign_in_with(social).approve()
    widget.wait_for("member")


def with_headers(shop: ShopPage, stack: Stack, **policies: str) -> None:
    """Serve the shop's page with these headers."""
    url = shop.business.url
    answer = httpx.get(url.replace(shop.business.origin, stack.site.local_url), verify=trust(stack.ca), trust_env=False)
    headers = {"content-type": answer.headers["content-type"]}
    headers |= {name.replace("_", "-"): policy for name, policy in policies.items()}
    shop.page.route(url, lambda route: route.fulfill(headers=headers, body=answer.text))
    shop.page.context.grant_permissions(["local-network-access"])  # for pages loaded from elsewhere


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/lost", "D-12/always-chat")
@pytest.mark.parametrize("embedder", ["unsafe-none", "require-corp"], ids=["F164", "F183"])
def test_htm_020_a_page_that_cuts_its_popups_off_is_told_which_header_to_change(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness, *, embedder: str, social: str
) -> None:
    """F164, F183: if the shop's COOP `same-origin` separates the popup, both windows must report it."""
    with_headers(shop, stack, cross_origin_opener_policy="same-origin", cross_origin_embedder_policy=embedder)
    visitor = Visitor(shop.open(), business, witness)
    isolated = shop.page.evaluate("() => window.crossOriginIsolated")

    consent = visitor.asks(social)
    visitor.is_told(social, "popup_lost", LOST)
    consent.approve()

    assert isolated == (embedder == "require-corp")
    (error,) = [error for error in visitor.widget.events("error") if error["code"] == "popup_lost"]
    assert "same-origin-allow-popups" in error["remediation"]
    says(consent.page, stack, "The chat cannot be reached", role="heading")
    visitor.keeps_nothing()


@pytest.mark.needs("social")
def test_htm_020_a_page_that_lets_its_popups_be_may_cut_itself_off_from_others(
    shop: ShopPage, stack: Stack, social: str
) -> None:
    """F164: with COOP `same-origin-allow-popups` on the shop's page, the login must work."""
    with_headers(shop, stack, cross_origin_opener_policy="same-origin-allow-popups")
    widget = shop.open()

    widget.sign_in_with(social).approve()

    widget.wait_for("member")
