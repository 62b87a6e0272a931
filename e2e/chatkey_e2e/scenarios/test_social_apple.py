"""Tests Sign in with Apple: the callback is a cross-site form post, and Apple sends the name only once."""

import pytest

from chatkey_e2e.business import Business
from chatkey_e2e.plugin import MakeBusiness
from chatkey_e2e.scenarios.visitors import Visitor
from chatkey_oauth.client import Leg
from chatkey_protocol.names import OAUTH_CALLBACK_PATH
from chatkey_stack.stack import Stack


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    """A business with its own keys at Apple, with which no person has shared a name yet."""
    return make_business(get_token=False, own_keys=["apple"])


def forms(visitor: Visitor) -> list[str]:
    """Return the fake provider's notes on posted forms, oldest first. Some drivers do not report form bodies."""
    client_id = visitor.business.own_keys["apple"].client_id
    flows = [flow for flow in visitor.business.stack.provider_lab.flows() if flow.client_id == client_id]
    return [step.note for flow in reversed(flows) for step in flow.steps if step.leg is Leg.CODE]


@pytest.mark.needs("own-keys", "social:apple")
@pytest.mark.contract("4.5/get-and-post", "D-07/single-use")
def test_the_way_back_is_a_form_posted_across_sites(visitor: Visitor, stack: Stack) -> None:
    """F176: the callback must be a POST from another site with the code in the form, and must need no cookie."""
    visitor.comes_in("apple")

    (request,) = visitor.witness.asked(OAUTH_CALLBACK_PATH.format(social="apple"))
    assert (request.method, request.url) == ("POST", stack.callback("apple"))
    assert request.headers["origin"] == stack.provider.browser_url
    assert forms(visitor) == ["carries code, user, state"]
    assert visitor.widget.page.context.cookies(stack.service.browser_url) == []


@pytest.mark.needs("own-keys", "social:apple")
@pytest.mark.contract("2.7/same-record")
def test_the_name_is_told_the_first_time_and_kept(visitor: Visitor) -> None:
    """The name from the first login, as edited by the person, must be kept when the second login sends no name."""
    consent = visitor.asks("apple")
    consent.rename("Zaïda", "O'Brien-Šťastná")
    consent.approve()
    visitor.widget.wait_for("member")
    first = visitor.widget.identity["name"]
    visitor.widget.sign_out()

    visitor.comes_in("apple")

    assert ["user" in form for form in forms(visitor)] == [True, False]
    assert first == visitor.widget.identity["name"] == "Zaïda O'Brien-Šťastná"


@pytest.mark.needs("member-records", "own-keys", "social:apple")
def test_whoever_hides_their_email_is_known_by_an_address_that_relays(visitor: Visitor) -> None:
    """A person who hides the email address must have a relay address in the member record."""
    consent = visitor.asks("apple")
    consent.hide_email()
    consent.approve()
    visitor.widget.wait_for("member")

    (record,) = visitor.members
    assert str(record["email"]).endswith("@privaterelay.appleid.com")
    assert record["name"] == "Rhea Quill"
