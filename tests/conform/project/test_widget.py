"""Tests of our widget with the sample service in Node."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext

from chatkey_e2e.business import Business
from chatkey_e2e.clerk import Clerk
from chatkey_e2e.misbehaviour import Faults
from chatkey_e2e.pages.shop import ADA, ShopPage
from chatkey_e2e.plugin import Advance, MakeBusiness

SOCIALS = ("google", "github")


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    """A business with custom login and two social logins, one with the service's keys and one with its own keys."""
    return make_business(service_keys=SOCIALS[:1], own_keys=SOCIALS[1:])


def test_a_visitor_writes_and_comes_back(shop: ShopPage) -> None:
    """The visitor connects, sends a message, finds it by searching, and keeps the same identity after a reload."""
    widget = shop.open()
    uid = widget.uid
    widget.send("Is the oak table in stock? Große Straße 4")

    assert widget.search("STRASSE") == ["Is the oak table in stock? Große Straße 4"]
    again = shop.reload()

    assert again.uid == uid == f"v_{again.jkt}"
    assert again.lines(1) == ["Is the oak table in stock? Große Straße 4"]


def test_two_tabs_hear_each_other(shop: ShopPage, context: BrowserContext, business: Business) -> None:
    """Messages and calls of one tab must appear in the other."""
    one = shop.open()
    other = ShopPage(context.new_page(), business).open()
    one.send("from the first tab")

    assert other.lines(1) == ["from the first tab"]
    one.call()
    other.wait_for_call("elsewhere")


def test_an_agent_answers_and_ends_a_call(shop: ShopPage, clerk: Clerk) -> None:
    """The agent acts through the service's lab, because the service has no agent panel."""
    widget = shop.open()
    widget.send("Is the oak table in stock?")
    clerk.answer(widget.uid, "Two of them.")

    assert widget.lines(2) == ["Is the oak table in stock?", "Two of them."]
    widget.call()
    clerk.end_call(widget.uid)
    widget.wait_for_call("ended")


def test_a_member_of_the_shop_is_known(shop: ShopPage, business: Business) -> None:
    """With custom login, the member's conversation is separate from the visitor's.

    Logging out ends the member's conversation.
    """
    widget = shop.open()
    widget.send("as a visitor")
    shop.sign_in(ADA)
    widget.send("as Ada")

    assert widget.lines(1) == ["as Ada"]
    assert [member["name"] for member in business.stack.service_lab.members(business.provider.id)] == [ADA]
    widget.logout()
    assert widget.lines(1) == ["as a visitor"]


@pytest.mark.parametrize("social", SOCIALS)
def test_a_visitor_signs_in_with_a_social_login(shop: ShopPage, business: Business, social: str) -> None:
    """The popup posts its message, and the widget exchanges the token.

    The member must still be logged in after a reload.
    """
    widget = shop.open()
    assert widget.offered_socials() == list(SOCIALS)

    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    uid = widget.uid

    assert uid.startswith(f"{social}:")
    assert shop.reload().uid == uid
    [member] = business.stack.service_lab.members(business.provider.id)
    assert (member["uid"], member["auth_provider"]) == (uid, social)


def test_after_a_declined_login_the_visitor_stays(shop: ShopPage, faults: Faults) -> None:
    """The widget reports the error code of the declined login, and the visitor can continue to chat."""
    faults.arm("deny", provider="google")
    widget = shop.open()

    widget.start_signing_in("google")
    widget.wait_for_error("oauth_denied")

    widget.turn_back()
    widget.send("still here")
    assert widget.uid.startswith("v_")


def test_tokens_are_renewed(advance: Advance, shop: ShopPage) -> None:
    """After a minute, the widget must get a new visitor token. The identity and the connection must stay the same."""
    widget = shop.open()
    uid = widget.uid

    with widget.expect_fresh_token():
        advance(61)

    assert widget.uid == uid
