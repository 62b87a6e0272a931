"""Tests of the history: the order of messages, gaps, older messages, and the count of unread messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_protocol.frames import Kind
from chatkey_widget import events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import Driver

from tests.widget.driver import bodies, entry


def test_the_history_is_shown_in_the_servers_order(anyone: Driver) -> None:
    """Messages are sorted by `seq`, in whatever order they were received. Unsent messages come last."""
    ask = anyone.frames(Kind.HISTORY)[-1]
    anyone.feed(events.MessageWritten("new"))

    anyone.frame(type="message", **entry(3, "three", "agent"))
    anyone.frame(type="history", id=ask["id"], messages=[entry(1, "one"), entry(2, "two")], more=True)

    assert [body for body, _ in bodies(anyone)] == ["one", "two", "three", "new"]
    assert anyone.view.more


def load(widget: Driver, *seqs: int, more: bool = False, before: int | None = None) -> None:
    """Check that the newest history request is for this page, and answer with these messages."""
    ask = widget.frames(Kind.HISTORY)[-1]
    assert ask.get("before") == before
    widget.frame(type="history", id=ask["id"], messages=[entry(seq, f"number {seq}") for seq in seqs], more=more)


def seqs(widget: Driver) -> list[int | None]:
    return [line.seq for line in widget.view.lines]


@pytest.mark.contract("D-15/deaf")
def test_a_missing_message_is_noticed_and_requested(anyone: Driver) -> None:
    """If a number is missing, the widget must wait a moment for the message, and then request the history."""
    load(anyone, 1, 2)
    asked = len(anyone.frames(Kind.HISTORY))

    anyone.frame(type="message", **entry(5, "five", "agent"))
    at_once = len(anyone.frames(Kind.HISTORY))
    anyone.advance(1)
    load(anyone, 1, 2, 3, 4, before=5)
    anyone.advance(10)

    assert (at_once, len(anyone.frames(Kind.HISTORY))) == (asked, asked + 1)
    assert seqs(anyone) == [1, 2, 3, 4, 5]


@pytest.mark.contract("D-15/deaf")
def test_a_gap_below_ones_own_message_is_noticed(visitor: Driver) -> None:
    """Just before the visitor's message, an agent sent a message that the widget has not received."""
    load(visitor, 1)
    visitor.feed(events.MessageWritten("three"))
    visitor.frame(type="ack", id=visitor.frames(Kind.MESSAGE)[0]["id"], seq=3, sent_at=200)

    visitor.advance(1)
    load(visitor, 1, 2, before=3)

    assert seqs(visitor) == [1, 2, 3]


@pytest.mark.contract("D-15/deaf")
def test_messages_out_of_order_cause_no_request(visitor: Driver) -> None:
    load(visitor, 1)
    asked = len(visitor.frames(Kind.HISTORY))

    visitor.frame(type="message", **entry(3, "three", "agent"))
    visitor.frame(type="message", **entry(2, "two", "agent"))
    visitor.advance(10)

    assert len(visitor.frames(Kind.HISTORY)) == asked
    assert seqs(visitor) == [1, 2, 3]


@pytest.mark.contract("D-15/deaf")
def test_a_gap_of_many_pages_is_filled_page_by_page(visitor: Driver) -> None:
    """The widget was disconnected for a night.

    The newest page of history does not reach back to the last known message.
    """
    load(visitor, 1, 2)
    visitor.close(1006)
    visitor.advance(2)

    load(visitor, 8, 9, more=True)
    load(visitor, 6, 7, more=True, before=8)
    load(visitor, 4, 5, more=True, before=6)
    load(visitor, 2, 3, more=True, before=4)

    assert seqs(visitor) == list(range(1, 10))
    assert not visitor.view.more
    assert visitor.frames(Kind.HISTORY)[-1]["before"] == 4


def test_a_gap_that_the_server_cannot_fill_is_requested_once(visitor: Driver) -> None:
    load(visitor, 1, 2)
    visitor.frame(type="message", **entry(9, "nine", "agent"))
    visitor.advance(1)
    asked = len(visitor.frames(Kind.HISTORY))

    load(visitor, 1, 2, before=9)
    visitor.advance(10)

    assert len(visitor.frames(Kind.HISTORY)) == asked


def test_older_messages_are_asked_for_before_the_oldest(visitor: Driver) -> None:
    """The widget must request earlier pages until there are no more messages."""
    ask = visitor.frames(Kind.HISTORY)[-1]
    page = [entry(7, "seven"), entry(8, "eight"), entry(9, "nine")]
    visitor.frame(type="history", id=ask["id"], messages=page, more=True)

    visitor.feed(events.OlderAsked())
    older = visitor.frames(Kind.HISTORY)[-1]
    visitor.frame(type="history", id=older["id"], messages=[entry(6, "six")], more=False)
    visitor.feed(events.OlderAsked())

    assert "before" not in ask
    assert older["before"] == 7
    assert [body for body, _ in bodies(visitor)] == ["six", "seven", "eight", "nine"]
    assert visitor.frames(Kind.HISTORY)[-1] == older


def test_an_unrequested_history_is_ignored(visitor: Driver) -> None:
    visitor.frame(type="history", id="other", messages=[entry(1, "not mine")], more=False)

    assert visitor.view.lines == ()


def test_unread_messages_of_agents_are_counted_while_the_panel_is_closed(visitor: Driver) -> None:
    """A message counts once. A message from another tab does not count. Opening the panel must reset the count."""
    counted = []
    for line in (entry(1, "hi", "agent"), entry(1, "hi", "agent"), entry(2, "me"), entry(3, "you?", "agent")):
        visitor.frame(type="message", **line)
        counted.append(visitor.view.unread)

    visitor.feed(events.PanelToggled(open=True))
    visitor.frame(type="message", **entry(4, "still there?", "agent"))

    assert counted == [1, 1, 1, 2]
    assert visitor.view.unread == 0


def test_a_line_says_who_wrote_it_when_and_under_which_name(visitor: Driver) -> None:
    """This must hold for messages of others, messages in the history, and the person's own acknowledged messages."""
    ask = visitor.frames(Kind.HISTORY)[-1]
    visitor.frame(type="history", id=ask["id"], messages=[entry(1, "Hello", "agent", name="Kim")], more=False)
    visitor.frame(type="message", **entry(2, "Hi", name=None))
    visitor.feed(events.MessageWritten("Thanks"))
    visitor.frame(type="ack", id=visitor.frames(Kind.MESSAGE)[-1]["id"], seq=3, sent_at=103)

    shown = [(line.sender, line.name, line.seq, line.sent_at, line.state) for line in visitor.view.lines]
    assert shown == [
        ("agent", "Kim", 1, 101, "sent"),
        ("customer", None, 2, 102, "sent"),
        ("customer", None, 3, 103, "sent"),
    ]


def test_a_history_counts_as_loaded_when_it_came(visitor: Driver) -> None:
    ask = visitor.frames(Kind.HISTORY)[-1]
    assert not visitor.view.loaded

    visitor.frame(type="history", id=ask["id"], messages=[], more=False)

    assert visitor.view.loaded


def test_without_a_gap_nothing_waits_to_fill_one(visitor: Driver) -> None:
    visitor.frame(type="message", **entry(1, "Hello", "agent"))

    assert "gap" not in visitor.timers


def test_a_history_that_cannot_be_read_is_named(visitor: Driver) -> None:
    """The history answer has the id of the request, but does not contain a list of messages."""
    visitor.frame(type="history", id=visitor.frames(Kind.HISTORY)[-1]["id"], messages=["one"], more=False)

    assert visitor.errors() == [Fault.FRAME_UNREADABLE]
    assert "'messages'" in str(visitor.emitted("error")[0]["message"])
