"""Tests of the conversation, for visitors and members alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.chat import MESSAGE_CHARS
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget

from tests.widget.driver import bodies, entry


@pytest.mark.contract("D-10/messages")
def test_a_message_is_shown_at_once_and_acknowledged(anyone: Driver) -> None:
    """Until the server has stored the message, the screen must show it as being sent.

    After that, the screen must show it as sent.
    """
    anyone.feed(events.MessageWritten("  Hello  "))
    sent = anyone.frames(Kind.MESSAGE)[0]
    assert bodies(anyone) == [("Hello", "sending")]

    anyone.frame(type="ack", id=sent["id"], seq=1, sent_at=200)

    assert bodies(anyone) == [("Hello", "sent")]
    assert sent["body"] == "Hello"


def test_a_message_written_before_the_key_is_ready_is_sent(make_widget: MakeWidget) -> None:
    """A browser may take seconds to provide the key."""
    widget = make_widget()

    widget.feed(events.MessageWritten("Hello"), events.Started(secure=True))

    assert [frame["body"] for frame in widget.frames(Kind.MESSAGE)] == ["Hello"]
    assert bodies(widget) == [("Hello", "sending")]


@pytest.mark.contract("2.7/custom-on-first")
def test_the_members_name_travels_in_a_header(member: Driver, visitor: Driver) -> None:
    """A visitor has no name to send."""
    for widget in (member, visitor):
        widget.feed(events.MessageWritten("Hello"), events.CallAsked("start"))

    assert member.frames(Kind.MESSAGE)[0]["headers"] == {"name": "Ada Lovelace"}
    assert member.frames(Kind.CALL)[0]["headers"] == {"name": "Ada Lovelace"}
    assert "headers" not in visitor.frames(Kind.MESSAGE)[0]


@pytest.mark.parametrize("body", ["", "   ", "\n"])
def test_an_empty_message_is_not_sent(visitor: Driver, body: str) -> None:
    visitor.feed(events.MessageWritten(body))

    assert visitor.frames(Kind.MESSAGE) == []


@pytest.mark.contract("D-10/messages")
def test_an_unacknowledged_message_is_sent_again_with_its_id(anyone: Driver) -> None:
    """The widget must send unacknowledged messages again, and must not repeat acknowledged ones."""
    anyone.feed(events.MessageWritten("one"), events.MessageWritten("two"))
    first, second = anyone.frames(Kind.MESSAGE)
    anyone.frame(type="ack", id=first["id"], seq=1, sent_at=200)

    anyone.close(1006)
    anyone.advance(2)

    assert anyone.frames(Kind.MESSAGE)[2:] == [second]


def test_a_message_written_offline_is_sent_when_the_connection_is_back(visitor: Driver) -> None:
    """Without a connection, the screen must show the message as waiting."""
    visitor.close(1006)
    visitor.feed(events.MessageWritten("later"))
    assert visitor.frames(Kind.MESSAGE) == []

    visitor.advance(2)

    assert [frame["body"] for frame in visitor.frames(Kind.MESSAGE)] == ["later"]


def test_a_message_longer_than_the_limit_is_shown_as_refused(visitor: Driver) -> None:
    """F218: the composer has the same limit. Longer text from a script must not be cut without a word."""
    visitor.feed(events.MessageWritten("x" * (MESSAGE_CHARS + 1)), events.MessageWritten("next"))

    assert [frame["body"] for frame in visitor.frames(Kind.MESSAGE)] == ["next"]
    assert bodies(visitor) == [("x" * (MESSAGE_CHARS + 1), "refused"), ("next", "sending")]
    assert visitor.view.lines[0].reason == "too_large"
    assert visitor.errors() == [Fault.MESSAGE_REFUSED]


def test_an_acknowledgement_of_a_message_that_is_not_there_changes_nothing(visitor: Driver) -> None:
    visitor.feed(events.MessageWritten("Hello"))

    visitor.frame(type="ack", id="other", seq=1, sent_at=200)

    assert bodies(visitor) == [("Hello", "sending")]
    assert visitor.emitted("message:acknowledged") == []


@pytest.mark.contract("D-10/messages")
def test_a_message_whose_acknowledgement_was_lost_is_found_in_the_history(anyone: Driver) -> None:
    anyone.feed(events.MessageWritten("Hello"))
    sent = anyone.frames(Kind.MESSAGE)[0]
    anyone.close(1006)
    anyone.advance(2)

    stored = entry(1, "Hello") | {"id": sent["id"]}
    anyone.frame(type="history", id=anyone.frames(Kind.HISTORY)[-1]["id"], messages=[stored], more=False)

    assert bodies(anyone) == [("Hello", "sent")]


def test_a_search_shows_what_was_found(anyone: Driver) -> None:
    """Only the answer to the newest query may be shown. An empty query must end the search."""
    anyone.feed(events.PageChosen("search"), events.SearchAsked("tea"), events.SearchAsked(" teapot "))
    first, second = anyone.frames(Kind.SEARCH)

    found = []
    anyone.frame(type="search", id=first["id"], messages=[entry(1, "tea")])
    found.append(anyone.view.found)
    anyone.frame(type="search", id=second["id"], messages=[entry(2, "teapot")])
    found.append(anyone.view.found)
    anyone.feed(events.PageChosen("chat"))
    found.append(anyone.view.found)

    assert second["query"] == "teapot"
    assert [lines and [line.body for line in lines] for lines in found] == [None, ["teapot"], None]


def test_a_refused_search_ends_without_results(visitor: Driver) -> None:
    visitor.feed(events.SearchAsked("tea"))
    asked = visitor.frames(Kind.SEARCH)[0]

    visitor.frame(
        type="error", id=asked["id"], code="rate_limited", message="Send requests less often.", retryable=True
    )

    assert visitor.view.found == ()


def test_nothing_is_shown_before_the_server_has_accepted_the_person(make_widget: MakeWidget) -> None:
    """If a message is received before `ready`, the widget does not know to whom the message belongs."""
    widget = make_widget(answers_frames=False).start()
    ref = widget.last(effects.OpenSocket).ref

    widget.feed(events.FrameReceived(ref, {"type": "message", **entry(1, "whose?", "agent")}))

    assert widget.view.lines == ()


def test_nothing_is_sent_while_there_is_no_connection(visitor: Driver) -> None:
    visitor.close(1006)
    before = visitor.counts()["Send"]

    visitor.feed(events.SearchAsked("tea"), events.CallAsked("start"), events.OlderAsked())

    assert visitor.counts()["Send"] == before
    assert visitor.view.call == "none"


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "message", "id": "m", "seq": "1", "sender": "agent", "body": "b", "sent_at": 1},
        {"type": "message", "id": "m", "seq": True, "sender": "agent", "body": "b", "sent_at": 1},
        {"type": "message", "seq": 1},
        {"type": "ack", "id": 5},
        {"type": "call", "call_id": "c", "state": "lost"},
    ],
)
def test_a_chat_frame_that_cannot_be_read_is_named(visitor: Driver, frame: dict[str, object]) -> None:
    """The widget must report one error that names the malformed member, and then reconnect."""
    visitor.feed(events.FrameReceived(visitor.socket or 0, frame))

    assert visitor.errors() == [Fault.FRAME_UNREADABLE]
    visitor.advance(2)
    assert visitor.view.link == "online"


def test_unknown_kinds_of_frames_are_ignored(visitor: Driver) -> None:
    """Future versions of the profile may add kinds of frames."""
    visitor.frame(type="typing", who="agent")

    assert visitor.errors() == []
    assert visitor.counts()["OpenSocket"] == 1


def test_the_screen_is_drawn_only_when_something_changed(visitor: Driver) -> None:
    shown = len(visitor.all(effects.Show))

    visitor.advance(200)

    assert len(visitor.all(effects.Show)) == shown


@pytest.mark.contract("2.7/custom-on-first")
def test_a_name_that_is_new_goes_out_with_the_next_message(member: Driver) -> None:
    """F200: the person's name has changed. Agents must see the new name with the next message."""
    member.feed(events.MessageWritten("Hello"))
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(name="Ada King"))

    member.feed(events.RefreshAsked())
    member.feed(events.MessageWritten("Hello again"))

    first, next_one = (frame["headers"] for frame in member.frames(Kind.MESSAGE))
    assert next_one == {"name": "Ada King"} != first
