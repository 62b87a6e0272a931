"""Tests of messages that an earlier page of the tab could not send."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import MakeWidget


@pytest.mark.parametrize("who", ["visitor", "member"])
def test_a_message_that_was_not_sent_survives_a_reload(make_widget: MakeWidget, who: str) -> None:
    """F220: the next page of the tab must send the message with the same id, for the same identity only."""
    before = make_widget(custom_login=who == "member")
    if who == "member":
        before.page = lambda call: events.GetTokenReturned(call.ref, before.custom())
    before.start()
    before.close(1006)
    before.feed(events.MessageWritten("Is the oak table in stock?"))

    after = make_widget(custom_login=True, unsent=before.unsent)
    shown_to_visitor: list[object] = []

    def sign_in(call: effects.CallGetToken) -> events.Event:
        shown_to_visitor.extend(after.view.lines if who == "member" else ())
        return events.GetTokenReturned(call.ref, after.custom() if who == "member" else None)

    after.page = sign_in
    after.start()

    (sent,) = after.frames(Kind.MESSAGE)
    assert (sent["id"], sent["body"]) == (before.view.lines[0].id, "Is the oak table in stock?")
    assert shown_to_visitor == []
    after.frame(type="ack", id=sent["id"], seq=1, sent_at=200)
    assert after.unsent is None


@pytest.mark.parametrize("owner", [("Visitor", "v_lost"), ("Custom", "ada")])
def test_a_message_of_somebody_who_does_not_come_back_is_given_back(
    make_widget: MakeWidget, owner: tuple[str, str]
) -> None:
    """F220: the key of the visitor is lost, or nobody is signed in any more. The text must not vanish."""
    unsent = json.dumps([[*owner, "m-1", "Hello", 100.0]])

    widget = make_widget(custom_login=True, unsent=unsent).start()

    assert [back.text for back in widget.all(effects.GiveBack)] == ["Hello"]
    assert widget.errors() == [Fault.MESSAGE_DROPPED]
    assert widget.view.lines == ()
    assert widget.unsent is None


@pytest.mark.parametrize("kept", ["{", "null", '"text"', "[1, [2], [null]]", '[["Visitor", "v", "bad id!", "x", 1]]'])
def test_garbage_in_the_storage_sends_no_message(make_widget: MakeWidget, kept: str) -> None:
    widget = make_widget(unsent=kept).start()

    assert widget.frames(Kind.MESSAGE) == []
    assert widget.errors() == []
    assert widget.unsent is None
