"""Tests of calls without a microphone or a connection, and of sound that is interrupted or not played."""

import pytest
from tests.widget.caller import Caller

from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault
from chatkey_widget.sound import CONNECT_SECONDS, LOST_SECONDS


def test_a_sound_that_the_local_network_permission_blocks_has_a_code_of_its_own(caller: Caller) -> None:
    """F250: The person must read that they can allow the access."""
    caller.begin()

    caller.driver.advance(CONNECT_SECONDS)
    caller.driver.feed(events.SoundInspected(caller.ref, blocked=True))

    assert (caller.driver.errors(), caller.is_silent()) == ([Fault.CALL_LOCAL_NETWORK], True)
    assert "local network" in (caller.driver.view.notice or "")
    assert caller.sent(Kind.CALL)["action"] == "end"


def test_an_answer_about_an_earlier_call_does_not_end_this_one(caller: Caller) -> None:
    caller.begin()

    caller.driver.feed(events.SoundInspected(caller.ref - 1, blocked=True))

    assert (caller.driver.errors(), caller.is_silent()) == ([], False)


@pytest.mark.parametrize("seconds", [1, LOST_SECONDS - 1])
def test_a_browser_that_reports_a_second_failure_gets_no_more_time(caller: Caller, seconds: float) -> None:
    """F244: The browser reports `disconnected`, and `failed` some seconds later."""
    caller.connect()
    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(seconds)

    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(LOST_SECONDS - seconds)

    assert len(caller.driver.all(effects.InspectSound)) == 1


def test_a_sound_that_needs_a_click_is_played_by_a_click(caller: Caller) -> None:
    """F245: The browser may refuse to play sound without a click."""
    caller.connect()
    caller.driver.feed(events.SoundChanged(caller.ref, "silent"))
    before = caller.driver.view.sound

    caller.driver.feed(events.PlayAsked())

    assert (before.silent, caller.driver.view.sound.silent) == (True, False)
    assert len(caller.driver.all(effects.PlaySound)) == 2  # the first one when the answer was verified
