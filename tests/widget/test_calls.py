"""Tests of what the widget shows of a call. The tests of its sound are in `test_sound.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkey_protocol.frames import Kind
from chatkey_widget import events

if TYPE_CHECKING:
    from tests.widget.driver import Driver


def test_a_call_rings_is_answered_and_ends(anyone: Driver) -> None:
    """The screen must show each state of the call. After a while, it must no longer show that the call has ended."""
    states = []
    anyone.feed(events.CallAsked("start"))
    states.append(anyone.view.call)
    for state in ("ringing", "active"):
        anyone.frame(type="call", call_id="c1", state=state)
        states.append(anyone.view.call)

    anyone.feed(events.CallAsked("end"))
    anyone.frame(type="call", call_id="c1", state="ended")
    states.append(anyone.view.call)
    anyone.advance(5)

    assert [*states, anyone.view.call] == ["calling", "ringing", "active", "ended", "none"]
    assert [frame["action"] for frame in anyone.frames(Kind.CALL)] == ["start", "end"]


def test_a_call_is_timed_from_its_answer(anyone: Driver) -> None:
    seconds = []
    for state in ("ringing", "active", "active"):
        anyone.frame(type="call", call_id="c1", state=state)
        seconds.append(anyone.view.call_seconds)
        anyone.advance(1.5)
        seconds.append(anyone.view.call_seconds)
    anyone.advance(60)
    seconds.append(anyone.view.call_seconds)

    anyone.frame(type="call", call_id="c1", state="ended")
    anyone.advance(1)

    assert seconds == [None, None, 0, 1, 1, 3, 63]
    assert anyone.view.call_seconds is None
    assert "second" not in anyone.timers


def test_a_clock_that_is_set_back_during_a_call_shows_no_negative_time(visitor: Driver) -> None:
    """The duration must start again at zero."""
    visitor.frame(type="call", call_id="c1", state="active")

    visitor.now -= 60
    visitor.feed(events.PanelToggled(open=True))

    assert visitor.view.call_seconds == 0


def test_a_refused_call_ends(visitor: Driver) -> None:
    visitor.feed(events.CallAsked("start"))
    sent = visitor.frames(Kind.CALL)[0]

    visitor.frame(type="error", id=sent["id"], code="call_unknown", message="There is no call.", retryable=False)

    assert visitor.view.call == "none"


def test_a_message_that_is_refused_ends_no_call(visitor: Driver) -> None:
    """An error with the id of a message concerns the message, not the call."""
    visitor.feed(events.CallAsked("start"), events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]

    visitor.frame(type="error", id=sent["id"], code="too_large", message="At most 2.", retryable=False)

    assert visitor.view.call == "calling"


def test_the_end_of_a_call_does_not_end_the_next_one(visitor: Driver) -> None:
    """The first call has ended, and a second call begins before the screen removes the first.

    The second call must stay on the screen.
    """
    visitor.frame(type="call", call_id="c1", state="ended")

    visitor.feed(events.CallAsked("start"))
    visitor.advance(10)

    assert visitor.view.call == "calling"
