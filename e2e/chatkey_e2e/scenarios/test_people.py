"""Tests parts of the harness that other projects use: returning people, own page objects, passkeys, and the clock."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.people import Person
from chatkey_e2e.plugin import Advance

pytestmark = pytest.mark.long

CREATE_PASSKEY = """async () => {
  const user = { id: Uint8Array.of(1), name: "ada", displayName: "Ada" };
  const made = await navigator.credentials.create({ publicKey: {
    challenge: new Uint8Array(32), rp: { name: "Shop" }, user, pubKeyCredParams: [{ type: "public-key", alg: -7 }],
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  } });
  const found = await navigator.credentials.get({ publicKey: { challenge: new Uint8Array(32) } });
  return made.id === found.id;
}"""


@pytest.mark.contract("2.3/silent", "2.8/key-pair")
def test_a_person_comes_back_as_the_same_visitor(person: Person, business: Business) -> None:
    """A person who closes and reopens the browser must be the same visitor, because the profile keeps the key."""
    first = person("ada")
    uid = ShopPage(first.new_page(), business).open().uid
    first.close()

    again = ShopPage(person("ada").new_page(), business).open().uid
    other = ShopPage(person("tomas").new_page(), business).open().uid

    assert again == uid
    assert other != uid


def test_a_page_of_ones_own_has_the_widget(page: Page, business: Business) -> None:
    """A page that a test adds at the business's origin must have a working widget."""
    page.goto(business.add_page(f"<!doctype html><title>Mine</title><h1>Mine</h1>{business.snippet()}"))
    widget = WidgetPage(page)
    widget.wait_ready()

    widget.send("From my page")

    expect(widget.open()).to_match_aria_snapshot("""
      - dialog:
        - log "Conversation":
          - list:
            - listitem:
              - paragraph: From my page
    """)


@pytest.mark.only_browser("chromium", because="the virtual authenticator needs CDP, which only Chromium has")
def test_a_shop_may_have_passkeys(context: BrowserContext, shop: ShopPage) -> None:
    """Chromium's virtual authenticator must create and find a passkey in a page with the widget."""
    shop.open()
    session = context.new_cdp_session(shop.page)
    session.send("WebAuthn.enable")
    authenticator = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": authenticator})

    assert shop.page.evaluate(CREATE_PASSKEY)


@pytest.mark.needs("clock")
@pytest.mark.contract("3/renewal")
def test_a_member_stays_for_an_afternoon(advance: Advance, shop: ShopPage, business: Business) -> None:
    """After hours, the member must still be the same, with a new token each time."""
    shop.open()
    widget = shop.sign_in()
    uid = widget.uid

    for _ in range(4):
        with widget.expect_fresh_token():
            advance(3590)

    assert widget.uid == uid
    assert business.token_calls >= 5
