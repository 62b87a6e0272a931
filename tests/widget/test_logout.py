"""Tests of logging out in this tab, in another tab, or during another action."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, GRACE, KEY, VISITOR

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.widget.driver import Driver, MakeWidget


@pytest.mark.contract("3/logout", "2.8/deleted-by-logout", "4.8/logout", "1/logout-visitor")
def test_logout_makes_the_same_visitor_again(member: Driver) -> None:
    """F189: the widget must delete the token, close the socket with 1000, and connect the visitor with the same key."""
    member.feed(events.LogoutAsked())

    assert member.stored is None
    assert member.last(effects.CloseSocket).code == Close.LOGOUT
    assert member.identity == VISITOR
    assert member.last(effects.LoadVisitorToken).uid == KEY.uid
    assert member.emitted("logout") == [{"heard": False}]
    assert member.counts()["AnnounceLogout"] == 1


def test_after_a_logout_the_page_is_not_asked_on_its_own(member: Driver) -> None:
    """Otherwise, the page's `getToken` would log the person in again."""
    asked = member.counts()["CallGetToken"]

    member.feed(events.LogoutAsked())
    member.advance(4000)

    assert member.counts()["CallGetToken"] == asked
    assert member.identity == VISITOR


@pytest.mark.contract("2.7/history-apart")
def test_the_members_history_leaves_the_screen_and_the_visitors_comes_back(make_widget: MakeWidget) -> None:
    """F189, F198: after the logout, the screen must show only the visitor's conversation."""
    widget = make_widget(custom_login=True).start()
    widget.feed(events.MessageWritten("from the visitor"))
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())
    seen = []
    for event in (events.RefreshAsked(), events.LogoutAsked(), events.RefreshAsked()):
        widget.feed(event)
        seen.append([line.body for line in widget.view.lines])
        widget.feed(events.MessageWritten("from ada"))

    assert seen == [[], ["from the visitor"], []]


@pytest.fixture
def away(member: Driver) -> Driver:
    """Ada has written a message offline.

    Then her token expired and `getToken` failed once, so the widget is now the visitor.
    """
    member.page = lambda call: events.GetTokenFailed(call.ref, "503")
    member.close(1006)
    member.feed(events.MessageWritten("from ada"))
    member.now += 10_800
    member.feed(events.Woken("online"))
    member.advance(1)
    assert member.identity == VISITOR
    return member


def come(widget: Driver, uid: str) -> None:
    """Let the page report a change of user. From now on, `getToken` returns a token for this person."""
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(uid=uid))
    widget.feed(events.RefreshAsked())


@pytest.mark.contract("D-12/always-chat")
def test_offline_messages_of_a_member_are_sent_when_the_member_returns(away: Driver) -> None:
    """F064, F142: the visitor must not see the message.

    When Ada returns, the widget must send the message under her name.
    """
    shown, sent = away.view.lines, away.frames(Kind.MESSAGE)
    away.page = lambda call: events.GetTokenReturned(call.ref, away.custom())
    away.advance(4)

    assert (shown, sent) == ((), [])
    assert away.identity == ADA
    assert [(frame["body"], frame["headers"]) for frame in away.frames(Kind.MESSAGE)] == [
        ("from ada", {"name": "Ada Lovelace"})
    ]


def logged_out(widget: Driver) -> None:
    widget.feed(events.LogoutAsked())


def logged_out_elsewhere(widget: Driver) -> None:
    widget.feed(events.LogoutAsked(heard=True))


def nobody_there(widget: Driver) -> None:
    widget.page = lambda call: events.GetTokenReturned(call.ref, None)
    widget.advance(4)


def another_member(widget: Driver) -> None:
    come(widget, "bob")


@pytest.mark.contract("2.7/history-apart")
@pytest.mark.parametrize("end", [logged_out, logged_out_elsewhere, nobody_there, another_member])
def test_offline_messages_of_a_member_are_dropped_with_the_login(away: Driver, end: Callable[[Driver], None]) -> None:
    """F189: the widget must never send one of Ada's messages after the logout, even if she logs in again."""
    end(away)

    come(away, "ada")

    assert away.identity == ADA
    assert away.view.lines == ()
    assert away.frames(Kind.MESSAGE) == []


@pytest.mark.parametrize("how", ["heard", "storage", "both", "both-reversed"])
@pytest.mark.contract("D-12/tabs")
def test_a_logout_in_another_tab_is_followed_once(member: Driver, how: str) -> None:
    """F190: the channel, the storage event or both may report the logout, in any order.

    This tab must not announce the logout again.
    """
    channel, storage = events.LogoutAsked(heard=True), events.StoredTokenChanged(None)
    given: dict[str, list[events.Event]] = {
        "heard": [channel],
        "storage": [storage],
        "both": [channel, storage],
        "both-reversed": [storage, channel],
    }

    member.stored = None
    member.feed(*given[how])

    assert member.identity == VISITOR
    assert member.emitted("logout") == [{"heard": True}]
    assert member.all(effects.AnnounceLogout) == []


def test_a_login_in_another_tab_is_followed(visitor: Driver) -> None:
    """All tabs of a browser have the same identity."""
    visitor.feed(events.StoredTokenChanged(visitor.identity_token()))

    assert visitor.identity == GRACE
    assert visitor.all(effects.StoreToken) == []


def test_garbage_in_the_cache_causes_no_login(visitor: Driver) -> None:
    """F017: the test writes invalid data to the cache while the page is open."""
    visitor.feed(events.StoredTokenChanged("{"))

    assert visitor.identity == VISITOR
    assert visitor.counts()["OpenSocket"] == 1


def test_a_token_that_comes_after_the_logout_is_dropped(make_widget: MakeWidget) -> None:
    """F191: the widget must abort the running `getToken` call, and ignore its answer."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    ref = widget.last(effects.CallGetToken).ref

    widget.feed(events.LogoutAsked(), events.GetTokenReturned(ref, widget.custom()))

    assert widget.last(effects.AbortGetToken).ref == ref
    assert widget.identity == VISITOR
    assert widget.all(effects.StoreToken) == []


def test_a_logout_ends_a_sign_in_under_way(visitor: Driver) -> None:
    """F192: the widget must close the popup, and ignore the popup's message."""
    visitor.feed(events.SocialClicked("google"))

    visitor.feed(events.LogoutAsked())

    assert visitor.last(effects.ClosePopup).ref == visitor.last(effects.OpenPopup).ref
    assert visitor.view.signing_in is None


def test_a_logout_before_the_key_is_ready_counts(make_widget: MakeWidget) -> None:
    """The page may log out before the widget runs. The cached member must never appear."""
    widget = make_widget()
    widget.stored = widget.custom()

    widget.feed(events.LogoutAsked(), events.Started(secure=True))

    assert widget.stored is None
    assert widget.identity == VISITOR
    assert [detail["identity"] for detail in widget.emitted("identity:changed")] == ["visitor"]


def test_a_logout_offline_is_remembered(member: Driver) -> None:
    """F193: the widget must delete the token and inform the page at once. The connection can change only later."""
    member.answers_tokens = False

    member.feed(events.LogoutAsked())

    assert member.stored is None
    assert member.identity == VISITOR
    assert not member.view.person.member


def test_a_visitor_who_logs_out_stays_connected(visitor: Driver) -> None:
    visitor.feed(events.LogoutAsked())

    assert visitor.counts()["OpenSocket"] == 1
    assert visitor.all(effects.CloseSocket) == []


def test_a_retry_that_was_planned_ends_with_the_logout(make_widget: MakeWidget) -> None:
    """F191: `getToken` has failed, and the widget has planned a retry. The retry would log the person in again."""
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500")).start()

    widget.feed(events.LogoutAsked())
    widget.advance(300)

    assert widget.counts()["CallGetToken"] == 1
