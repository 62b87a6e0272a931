"""Tests of messages that the server refuses, puts off, or answers by closing the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.chat import HOLD_SECONDS
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import Driver

    from chatkey_widget.view import Line
from tests.widget.driver import bodies


def test_a_refused_message_says_nothing_about_the_connection(visitor: Driver) -> None:
    """The socket closes a moment later. The widget must not report the refused message as the cause."""
    visitor.feed(events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]

    visitor.frame(type="error", id=sent["id"], code="too_large", message="At most 2.", retryable=False)
    visitor.close(1006)

    assert visitor.emitted("socket:closed") == [{"code": 1006, "reason": None}]


def test_a_message_that_the_server_refuses_is_marked(visitor: Driver) -> None:
    """The screen must mark the message and explain the refusal. The widget must not send the message again."""
    visitor.feed(events.MessageWritten("x" * 4000))
    sent = visitor.frames(Kind.MESSAGE)[0]

    visitor.frame(type="error", id=sent["id"], code="too_large", message="At most 2000.", retryable=False)
    visitor.close(1006)
    visitor.advance(2)

    assert visitor.view.lines[0].state == "refused"
    assert visitor.errors() == [Fault.MESSAGE_REFUSED]
    assert "too_large" in str(visitor.emitted("error")[0]["message"])
    assert len(visitor.frames(Kind.MESSAGE)) == 1


def refuse_frames(widget: Driver, poison: str, close: int = 4400, *, says: str | None = "frame_invalid") -> None:
    """Answer as a server that closes the connection at a message with this text, and acknowledges other messages."""
    for _ in range(300):
        waiting = [line for line in widget.view.lines if line.state == "sending"]
        if not waiting:
            return
        if widget.socket is None or not (sent := unanswered(widget)):
            widget.advance(1)
            continue
        line = sent[0]
        if poison in line.body:
            if says is not None:
                widget.frame(type="error", code=says, message="The frame cannot be read.", retryable=False)
            widget.close(close)
        else:
            seq = 1 + len([line for line in widget.view.lines if line.state == "sent"])
            widget.frame(type="ack", id=line.id, seq=seq, sent_at=200)
    raise AssertionError("messages are still waiting")


def unanswered(widget: Driver) -> list[Line]:
    """Return the messages that were sent on the open connection and have no answer, in the order of sending."""
    since = [index for index, effect in enumerate(widget.done) if isinstance(effect, effects.OpenSocket)][-1]
    sent = [effect.frame for effect in widget.done[since:] if isinstance(effect, effects.Send)]
    ids = [frame["id"] for frame in sent if frame["type"] == Kind.MESSAGE]
    lines = {line.id: line for line in widget.view.lines if line.state == "sending"}
    return [lines[str(frame_id)] for frame_id in ids if frame_id in lines]


@pytest.mark.parametrize(
    ("close", "says", "reason"),
    [
        (4400, "frame_invalid", "frame_invalid"),
        (1009, None, "frame_too_large"),
        (1007, None, "frame_invalid"),
        (1008, None, "frame_invalid"),
        (1006, None, "socket_unreachable"),
        (1013, "internal", "socket_unreachable"),
    ],
)
def test_a_message_that_ends_the_connection_holds_up_no_other(
    visitor: Driver, close: int, says: str | None, reason: str
) -> None:
    """F219: the message must be refused visibly, with its text, and the next messages must be sent."""
    for body in ("one", "poison", "two", "three"):
        visitor.feed(events.MessageWritten(body))

    refuse_frames(visitor, "poison", close, says=says)
    posted = len(visitor.frames(Kind.MESSAGE))
    visitor.close(1006)
    visitor.advance(120)

    assert sorted(bodies(visitor)) == [("one", "sent"), ("poison", "refused"), ("three", "sent"), ("two", "sent")]
    assert [line.reason for line in visitor.view.lines if line.state == "refused"] == [reason]
    assert Fault.MESSAGE_REFUSED in visitor.errors()
    assert len(visitor.frames(Kind.MESSAGE)) == posted


def test_a_close_of_the_server_blames_no_message_that_may_be_innocent(visitor: Driver) -> None:
    """F219: with two messages or a search under way, the widget cannot know which frame the server refused."""
    visitor.feed(events.MessageWritten("one"), events.MessageWritten("two"))
    visitor.close(4400)
    visitor.advance(2)
    after_two = bodies(visitor)
    visitor.frame(type="ack", id=visitor.frames(Kind.MESSAGE)[0]["id"], seq=1, sent_at=200)
    visitor.advance(1)
    visitor.feed(events.SearchAsked("tea"))

    visitor.close(4400)

    assert after_two == [("one", "sending"), ("two", "sending")]
    assert bodies(visitor) == [("one", "sent"), ("two", "sending")]
    assert visitor.errors() == []


def test_an_outage_directly_after_the_connection_blames_no_message_and_is_told_once(visitor: Driver) -> None:
    visitor.feed(events.MessageWritten("hello"))
    for _ in range(27):
        visitor.close(1006)
        visitor.advance(float(str(visitor.emitted("socket:waiting")[-1]["seconds"])))

    visitor.advance(HOLD_SECONDS)

    assert [line.body for line in unanswered(visitor)] == ["hello"]
    assert visitor.errors() == [Fault.SOCKET_UNREACHABLE]


def test_messages_written_offline_are_sent_one_after_the_other(visitor: Driver) -> None:
    """F219: fifty messages at once would exceed the rate of the server, which would close the connection each time."""
    visitor.close(1006)
    visitor.feed(*(events.MessageWritten(f"number {number}") for number in range(50)))
    visitor.advance(2)

    sent = []
    while waiting := unanswered(visitor):
        sent.append([line.body for line in waiting])
        visitor.frame(type="ack", id=waiting[0].id, seq=len(sent), sent_at=200)
        visitor.advance(0.1)

    assert sent == [[f"number {number}"] for number in range(50)]


def test_a_message_that_the_server_puts_off_waits_as_long_as_it_says(visitor: Driver) -> None:
    """F219: the answer to another message must not make the widget send it earlier."""
    visitor.feed(events.MessageWritten("one"), events.MessageWritten("two"))
    one, two = visitor.frames(Kind.MESSAGE)
    late = {"type": "error", "code": "rate_limited", "message": "Later.", "retryable": True, "retry_after": 30}

    visitor.frame(id=one["id"], **late)
    visitor.frame(type="ack", id=two["id"], seq=1, sent_at=200)
    visitor.advance(29)
    early = visitor.frames(Kind.MESSAGE)
    visitor.advance(15)

    assert early == [one, two]
    assert visitor.frames(Kind.MESSAGE) == [one, two, one]


def test_a_message_waits_behind_an_earlier_one_that_is_not_sent_yet(visitor: Driver) -> None:
    """Otherwise the server would store the messages in another order."""
    visitor.close(1006)
    visitor.feed(events.MessageWritten("one"), events.MessageWritten("two"))
    visitor.advance(2)

    visitor.feed(events.MessageWritten("three"))

    assert [line.body for line in unanswered(visitor)] == ["one"]


@pytest.mark.contract("D-15/outage")
def test_a_temporarily_refused_request_is_repeated(visitor: Driver) -> None:
    """While the database is unavailable, the screen must show the message as being sent.

    When the database is available again, the message must be stored, and the history must load.
    """
    visitor.feed(events.MessageWritten("Hello"))
    sent, history = visitor.frames(Kind.MESSAGE)[0], visitor.frames(Kind.HISTORY)[-1]
    for frame in (sent, history):
        visitor.frame(type="error", id=frame["id"], code="unavailable", message="Away.", retryable=True)
    state = visitor.view.lines[0].state
    waits = visitor.timers["again"] - visitor.now

    visitor.advance(10)

    assert (state, waits) == ("sending", 10)
    assert {(error["phase"], error["retryable"]) for error in visitor.emitted("error")} == {("chat", True)}
    assert visitor.frames(Kind.MESSAGE) == [sent, sent]
    assert len(visitor.frames(Kind.HISTORY)) == 2
    assert visitor.errors() == ["unavailable", "unavailable"]


def test_postponed_requests_wait_for_the_next_connection(visitor: Driver) -> None:
    """The widget must send nothing over a closed socket.

    On the next connection, it must first repeat the postponed requests.
    """
    visitor.feed(events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]
    visitor.frame(type="error", id=sent["id"], code="unavailable", message="Away.", retryable=True)
    visitor.close(1006)

    visitor.feed(events.TimerFired("again"))
    posted = len(visitor.frames(Kind.MESSAGE))
    visitor.advance(60)

    assert posted == 1
    assert visitor.frames(Kind.MESSAGE) == [sent, sent]


def test_a_wait_before_the_next_attempt_is_at_most_an_hour(visitor: Driver) -> None:
    visitor.feed(events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]
    visitor.frame(
        type="error", id=sent["id"], code="rate_limited", message="Too much.", retryable=True, retry_after=1e9
    )

    visitor.feed(events.TimerFired("again"))

    assert visitor.frames(Kind.MESSAGE) == [sent, sent]
    assert max(timer.seconds for timer in visitor.all(effects.SetTimer) if timer.name == "again") <= 3610
