"""Tests of what the widget shows of a call. The tests of its sound are in `test_sound.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.caller import CALL_ID, Caller

from chatkey_protocol.frames import Kind
from chatkey_widget import events

if TYPE_CHECKING:
    from tests.widget.driver import Driver


def test_a_call_is_timed_from_its_answer_also_after_a_reconnection(caller: Caller) -> None:
    driver, seconds = caller.driver, []
    caller.connect()
    driver.advance(61.5)
    seconds.append(driver.view.call_seconds)
    driver.close(1006)
    driver.advance(10)
    driver.frame(type="call", call_id=CALL_ID, state="active", id=caller.sent(Kind.CALL)["id"])
    seconds.append(driver.view.call_seconds)

    driver.now -= 3600  # somebody sets the clock back
    driver.feed(events.PanelToggled(open=True))

    assert [*seconds, driver.view.call_seconds] == [61, 71, 0]
    driver.frame(type="call", call_id=CALL_ID, state="ended")
    assert driver.view.call_seconds is None


@pytest.mark.parametrize(
    ("action", "read"),
    [("start", "The call was interrupted."), ("end", None)],
    ids=["its start", "its end, which comes too late"],
)
def test_a_refused_frame_of_a_call_is_told_as_one_of_a_call(caller: Caller, action: str, read: str | None) -> None:
    caller.driver.feed(events.CallAsked("start"))
    if action == "end":
        caller.driver.feed(events.CallAsked("end"))

    refusal = {"code": "call_unknown", "message": "There is no call.", "retryable": False}
    caller.driver.frame(type="error", id=caller.sent(Kind.CALL)["id"], **refusal)

    assert (caller.driver.view.call, caller.driver.view.notice) == ("none", read)


def test_a_candidate_that_is_refused_after_the_end_of_the_call_is_nothing_to_read(caller: Caller) -> None:
    caller.connect()
    caller.driver.feed(events.CandidateFound(caller.ref, "candidate:1"), events.CallAsked("end"))

    refusal = {"code": "call_unknown", "message": "There is no call.", "retryable": False}
    caller.driver.frame(type="error", id=caller.sent(Kind.SIGNAL)["id"], **refusal)

    assert caller.driver.errors() == []


def test_the_end_of_a_call_does_not_end_the_next_one(visitor: Driver) -> None:
    """The first call has ended, and a second call begins before the screen removes the first.

    The second call must stay on the screen.
    """
    visitor.frame(type="call", call_id="c1", state="ended")

    visitor.feed(events.CallAsked("start"))
    visitor.advance(10)

    assert visitor.view.call == "calling"
