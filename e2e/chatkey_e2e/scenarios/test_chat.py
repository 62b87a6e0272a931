"""Tests the chat: it works in the same way in every mode, agents answer, and no message is lost."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from chatkey_e2e.business import Business
from chatkey_e2e.clerk import Clerk
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ADA, ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance, MakeBusiness, Restart
from chatkey_e2e.scenarios.lines import wait_out
from chatkey_e2e.witness import Witness
from chatkey_protocol.frames import Kind
from chatkey_stack.stack import Stack

BY_SOCIAL = pytest.mark.needs("social")
BY_OWN_KEYS = pytest.mark.needs("social", "own-keys")

Enter = Callable[[ShopPage, str], WidgetPage]


def as_visitor(shop: ShopPage, _social: str) -> WidgetPage:
    return shop.open()


def by_custom_login(shop: ShopPage, _social: str) -> WidgetPage:
    shop.open()
    return shop.sign_in()


def by_social_login(shop: ShopPage, social: str) -> WidgetPage:
    widget = shop.open()
    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    return widget


@pytest.mark.needs("search")
@pytest.mark.contract("1/same-chat", "D-10/history-search-call")
@pytest.mark.parametrize(
    ("enter", "get_token", "keys"),
    [
        pytest.param(as_visitor, False, None, id="visitor"),
        pytest.param(by_custom_login, True, None, id="custom"),
        pytest.param(by_social_login, False, "service_keys", id="social-service-keys", marks=BY_SOCIAL),
        pytest.param(by_social_login, False, "own_keys", id="social-own-keys", marks=BY_OWN_KEYS),
    ],
)
def test_chat_and_search_are_the_same_in_every_mode(
    page: Page, make_business: MakeBusiness, social: str, *, enter: Enter, get_token: bool, keys: str | None
) -> None:
    """In every mode, messages must be stored, found by a search, and still be there after a reload."""
    shop = ShopPage(page, make_business(get_token=get_token, **({keys: [social]} if keys else {})))
    widget = enter(shop, social)
    uid = widget.uid

    widget.send("Is the harbour bowl dishwasher safe?")
    widget.send("And the Moss cup?")
    found = widget.search("MOSS")
    shop.reload()

    assert found == ["And the Moss cup?"]
    assert widget.uid == uid
    assert widget.lines(2) == ["Is the harbour bowl dishwasher safe?", "And the Moss cup?"]


@pytest.mark.needs("member-records")
@pytest.mark.contract("2.7/history-apart", "3/logout")
def test_each_identity_has_its_own_history(shop: ShopPage, business: Business, stack: Stack) -> None:
    """F198: visitor and member have separate histories. After a logout, the visitor's history must be shown again."""
    widget = shop.open()
    widget.send("as a visitor")
    widget.send("still a visitor")
    shop.sign_in()

    as_member = widget.lines(0)
    widget.send("as a member")
    widget.logout()
    as_visitor_again = widget.lines(2)

    assert as_member == []
    assert as_visitor_again == ["as a visitor", "still a visitor"]
    assert [record["uid"] for record in stack.service_lab.members(business.provider.id)] == [business.ada]


@pytest.mark.needs("kit")
@pytest.mark.contract("2.7/custom-on-first", "2.7/agent-panel")
def test_the_agent_sees_who_writes_and_answers(
    shop: ShopPage, business: Business, agent: AgentPage, stack: Stack
) -> None:
    """F199: a custom member's first message must create a record. The agent must see the member and answer live."""
    shop.open()
    widget = shop.sign_in()
    before = stack.service_lab.members(business.provider.id)

    widget.send("Good morning")
    agent.open_conversation(ADA)
    shown = agent.customer
    agent.answer("Good morning, Ada!")

    assert before == []
    assert widget.lines(2) == ["Good morning", "Good morning, Ada!"]
    assert "ada@example.test" in shown
    (record,) = stack.service_lab.members(business.provider.id)
    assert (record["uid"], record["name"]) == (business.ada, ADA)


@pytest.mark.needs("kit")
@pytest.mark.contract("D-21/list")
def test_an_agent_finds_a_member_among_visitors(shop: ShopPage, business: Business, agent: AgentPage) -> None:
    """The agent can filter and search the list. An answered member must leave the waiting list but stay open."""
    agent.choose_business(business.provider.id)
    shop.open()
    shop.widget.send("Hello?")
    visitor = shop.widget.uid
    shop.sign_in().send("Good morning")
    agent.expect_listed(ADA, visitor)

    agent.show("Members")
    agent.expect_listed(ADA)
    agent.show("Waiting")
    agent.open_conversation(ADA)
    agent.answer("Good morning, Ada!")
    agent.expect_listed()
    answered = agent.lines(2)
    agent.show("All")
    agent.search("ADA@example")
    agent.expect_listed(ADA)

    assert answered == ["Good morning", "Good morning, Ada!"]


@pytest.mark.needs("kit")
def test_a_visitor_appears_in_the_agent_panel_by_uid(widget: WidgetPage, agent: AgentPage) -> None:
    """The agent panel must show the uid of a visitor, because a visitor has no name."""
    widget.send("Hello?")

    agent.open_conversation(widget.uid)

    assert agent.lines(1) == ["Hello?"]


@pytest.mark.needs("kit")
def test_a_call_rings_is_taken_and_ends(widget: WidgetPage, agent: AgentPage) -> None:
    """A call must ring at the agent, become active with a timer when the agent accepts, and end at both sides."""
    widget.call()
    agent.take_call(widget.uid)
    widget.wait_for_call("active")
    expect(widget.panel.get_by_role("timer")).to_have_text(re.compile(r"^0:0\d$"))

    agent.hang_up()

    widget.wait_for_call("ended")


@pytest.mark.needs("agent", "calls")
@pytest.mark.contract("D-10/history-search-call")
def test_a_call_that_an_agent_ends_is_over(widget: WidgetPage, clerk: Clerk) -> None:
    """A call must end for the visitor when an agent ends the call."""
    widget.call()

    clerk.end_call(widget.uid)

    widget.wait_for_call("ended")


@pytest.mark.contract("D-12/tabs", "1/same-chat")
def test_two_tabs_show_the_same_conversation(context: BrowserContext, shop: ShopPage, business: Business) -> None:
    widget = shop.open()
    other = ShopPage(context.new_page(), business).open()

    widget.send("from the first tab")

    assert other.lines(1) == ["from the first tab"]


@pytest.mark.needs("restart")
@pytest.mark.contract("D-16/restart-1012", "D-10/reconnect")
def test_a_restart_of_the_service_is_survived(
    page_time: Advance, widget: WidgetPage, restart: Restart, stack: Stack
) -> None:
    """F143: if the service restarts with close code 1012, the widget must reconnect and emit an event for each step."""
    widget.send("before")

    with widget.expect_event("socket:ready"):
        restart()
        wait_out(widget, page_time)
    widget.send("after")

    told = [event["name"] for event in widget.debug()["events"] if event["name"].startswith("socket:")]
    after = told[told.index("socket:closed") :]
    # In between the widget may wait more than once, depending on how long the restart takes.
    assert after[:2] == ["socket:closed", "socket:waiting"]
    assert after[-4:] == ["socket:opening", "socket:open", "socket:proof", "socket:ready"]
    closed = widget.events("socket:closed")[0]
    assert closed == {"code": 1012, "reason": "restarting" if stack.is_ours else closed["reason"]}
    assert 0 <= widget.events("socket:waiting")[0]["seconds"] <= 10
    assert widget.lines(2) == ["before", "after"]


@pytest.mark.needs("faults")
@pytest.mark.contract("D-10/messages")
def test_a_message_that_was_not_acknowledged_is_sent_again_and_stored_once(
    page_time: Advance, widget: WidgetPage, witness: Witness, stack: Stack
) -> None:
    """If the ack is lost with the connection, the widget must send the message again.

    The service must store it once.
    """
    widget.open()
    stack.service_lab.arm(where="ack", action="close", code=1012)

    with widget.expect_event("message:acknowledged"):
        with widget.expect_event("socket:closed"):
            widget.write("Did you get this?")
        wait_out(widget, page_time)

    first, second = witness.frames(Kind.MESSAGE)
    assert first == second
    assert widget.lines(1) == ["Did you get this?"]
