"""Tests of a member whose token expires or is refused.

They check how often the widget calls `getToken`, and which identity it uses meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, VISITOR

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget


@pytest.mark.contract("3/renewal", "5.3/renews")
def test_the_token_is_renewed_before_its_end_on_the_same_socket(member: Driver) -> None:
    """One minute before `exp`, the widget must call `getToken` again and send the new token in a `refresh` frame."""
    opened, told = member.sockets(), len(member.emitted("identity:changed"))

    member.advance(3539)
    assert member.calls() == [("load", 1)]
    member.advance(2)

    assert member.calls() == [("load", 1), ("renew", 1)]
    assert member.frames(Kind.REFRESH)[-1]["token"] == member.stored
    assert member.sockets() == opened
    assert len(member.emitted("identity:changed")) == told


@pytest.mark.contract("D-10/refresh")
def test_another_uid_on_renewal_switches_the_person(member: Driver) -> None:
    """F046: the widget must not send a `refresh` frame.

    It must close the old socket, clear the screen, and open a new socket.
    """
    member.feed(events.MessageWritten("of ada"))
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(uid="bob", name="Bob"))
    before = len(member.done)

    member.advance(3541)

    order = [type(effect).__name__ for effect in member.done[before:]]
    assert order.index("CloseSocket") < order.index("OpenSocket")
    assert member.frames(Kind.REFRESH) == []
    assert member.identity == ("member", "bob")
    assert member.view.lines == ()
    assert member.view.person.name == "Bob"


@pytest.mark.contract("2.7/history-apart")
def test_null_on_renewal_ends_the_membership(member: Driver) -> None:
    """`getToken` returns null. The widget must become a visitor, and delete the cached token and the conversation."""
    member.feed(events.MessageWritten("from ada"))
    member.page = lambda call: events.GetTokenReturned(call.ref, None)

    member.advance(3541)
    left, stored = member.identity, member.stored
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom())
    member.feed(events.RefreshAsked())

    assert left == VISITOR
    assert stored is None
    assert member.identity == ADA
    assert member.view.lines == ()


def test_failing_renewals_keep_the_member_until_the_token_ends(member: Driver) -> None:
    """F037, F142: the connection must last until `exp`.

    When the server closes it with 4419, the widget must become a visitor without another call.
    """
    member.page = lambda call: events.GetTokenFailed(call.ref, "503")
    member.advance(3590)
    assert member.identity == ADA

    before = len(member.calls())
    member.advance(10)
    member.close(Close.TOKEN_EXPIRED)

    assert member.identity == VISITOR
    assert len(member.calls()) == before


def test_the_page_hears_that_the_server_took_the_newer_token(member: Driver) -> None:
    """The event must contain the new expiry time."""
    member.frame(type="refreshed", expires_at=member.server_now + 7200, server_time=member.server_now)

    assert member.emitted("token:refreshed") == [{"expires_at": member.server_now + 7200}]
    assert member.errors() == []


def test_a_reauth_asks_the_page_at_once(member: Driver) -> None:
    """F065, F142: the widget must renew on the same socket before the server's deadline."""
    opened = member.sockets()

    member.frame(type="reauth", deadline=member.server_now + 30)

    assert member.calls()[-1] == ("renew", 1)
    assert len(member.frames(Kind.REFRESH)) == 1
    assert member.sockets() == opened


@pytest.mark.contract("D-12/no-hammering")
@pytest.mark.parametrize(
    ("code", "close"),
    [
        ("token_signature", Close.TOKEN),
        ("proof_key_mismatch", Close.FORBIDDEN),
        ("token_provider", Close.TOKEN),
        pytest.param("token_not_yet_valid", Close.TOKEN, id="F054"),
        pytest.param("token_claims", Close.TOKEN, id="F059"),
    ],
)
def test_a_member_who_is_always_refused_causes_two_calls(make_widget: MakeWidget, code: str, close: Close) -> None:
    """F138, F044, WDG-007: after two tokens, the widget must be a visitor who can chat, and must not call `getToken`
    again.
    """
    widget = make_widget(custom_login=True, verdict=lambda c: (code, close) if c["type"] == "user" else None)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())
    widget.start()

    widget.advance(300)

    assert widget.calls() == [("load", 1), ("rejected", 1)]
    assert widget.sockets() == 4
    assert widget.errors() == [code, code]
    assert widget.identity == VISITOR
    assert widget.stored is None


@pytest.mark.contract("D-12/no-hammering")
def test_tokens_refused_as_expired_long_before_their_end_cause_two_calls(member: Driver) -> None:
    """F205: close code 4419 for a token that is valid for another hour is a refusal, even on an old connection.

    The widget may call `getToken` once more.
    """
    for _ in range(4):
        member.advance(120)
        member.close(Close.TOKEN_EXPIRED)

    assert member.calls() == [("load", 1), ("rejected", 1)]
    assert member.errors() == [Fault.TOKEN_EXPIRED] * 2
    assert member.identity == VISITOR


def test_a_token_valid_until_its_renewal_clears_earlier_refusals(member: Driver) -> None:
    """F112, F113: even if a business rotates its secret every few hours, its members must not become visitors."""
    for _ in range(3):
        member.close(Close.TOKEN)
        member.advance(3600)

    assert member.identity == ADA


@pytest.mark.contract("D-12/no-hammering")
def test_if_everyone_is_refused_four_sockets_are_opened(make_widget: MakeWidget) -> None:
    """F138: the widget may open at most four sockets and call `getToken` at most twice in five minutes."""
    widget = make_widget(custom_login=True, verdict=lambda _: ("token_signature", Close.TOKEN))
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())
    widget.start()

    widget.advance(300)

    assert widget.sockets() <= 4
    assert len(widget.calls()) <= 2
    assert widget.view.link == "stopped"


def test_after_a_rotated_secret_a_member_stays_a_member(member: Driver) -> None:
    """F112, F113: after one refusal and one call, the widget must be a member again.

    Meanwhile, the page must not receive a visitor event.
    """
    told, opened, old = len(member.emitted("identity:changed")), member.sockets(), member.stored
    member.advance(1)
    member.frame(type="error", code="token_signature", message="No.", retryable=False)

    member.close(Close.TOKEN)
    member.advance(600)

    assert member.calls() == [("load", 1), ("rejected", 1)]
    assert member.stored not in {old, None}
    assert member.all(effects.DropToken) == []  # other tabs would take it for a logout
    assert member.sockets() == opened + 1
    assert member.identity == ADA
    assert len(member.emitted("identity:changed")) == told


def test_waking_after_the_token_ended_renews_before_connecting(member: Driver) -> None:
    """The laptop has slept for three hours. The widget must first call `getToken`, and then open one socket."""
    before = len(member.done)

    member.sleep(10_800)

    order = [type(effect).__name__ for effect in member.done[before:]]
    assert order.index("CallGetToken") < order.index("OpenSocket")
    assert order.count("OpenSocket") == 1
    assert order.count("CallGetToken") == 1
    assert member.identity == ADA
    assert member.errors() == []


@pytest.mark.parametrize("code", [1006, Close.RESTART, Close.NONCE])
def test_reconnecting_does_not_call_get_token(member: Driver, code: int) -> None:
    """F094: the current token is still valid."""
    for _ in range(5):
        member.close(code)
        member.advance(31)

    assert member.calls() == [("load", 1)]
    assert member.identity == ADA
