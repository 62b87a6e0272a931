"""Tests how a socket filters repeated events.

Each message must be delivered once, and a call must never return to an earlier state.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatkey_server.peers.seen import CALLS, WINDOW, Seen


def test_a_number_is_new_once() -> None:
    seen = Seen()

    assert [seen.note(seq) for seq in (1, 2, 2, 5, 4, 5, 3, 1, 4)] == [
        *(True, True, False),
        *(True, True, False),
        *(True, False, False),
    ]


@given(st.lists(st.integers(1, 3 * WINDOW) | st.integers(1, 2**31 - 1), max_size=200))
def test_all_numbers_within_the_window_are_remembered(numbers: list[int]) -> None:
    seen = Seen()
    known: set[int] = set()
    for number in numbers:
        is_new = seen.note(number)

        if number > max(known, default=0) - WINDOW:
            assert is_new is (number not in known)
        else:
            assert is_new
        known.add(number)
    assert seen._bits.bit_length() <= WINDOW


def test_the_floor_is_unknown_until_the_history_was_asked_for() -> None:
    seen = Seen()
    seen.note(7)
    before = seen.floor

    seen.settle(6)

    assert (before, seen.floor) == (None, 7)


@given(st.integers(0, 20), st.lists(st.integers(1, 2 * WINDOW), max_size=100))
def test_the_floor_is_below_every_missing_number(start: int, numbers: list[int]) -> None:
    seen = Seen()
    seen.settle(start)
    for number in numbers:
        seen.note(number)

    told = {*range(1, start + 1), *numbers}
    assert seen.floor is not None
    assert seen.floor >= start
    assert set(range(1, seen.floor + 1)) <= told
    if max(told, default=0) < WINDOW:
        assert seen.floor + 1 not in told


def test_a_call_does_not_return_to_an_earlier_state() -> None:
    """A repeated event may be a mistake or come from another Redis client.

    The event must not revive a call that is over.
    """
    seen = Seen()

    told = [seen.note_call("c1", state) for state in ("ringing", "ringing", "active", "ringing", "ended", "active")]

    assert told == [True, True, True, False, True, False]
    assert seen.open_calls() == set()


def test_the_newest_calls_are_remembered() -> None:
    seen = Seen()
    for number in range(CALLS + 1):
        seen.note_call(f"c{number}", "ringing")

    assert (len(seen.open_calls()), seen.knows_call("c1", "ringing"), seen.knows_call("c0", "ringing")) == (
        CALLS,
        True,
        False,
    )
