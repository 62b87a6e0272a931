"""Which messages a socket was told: each number counts once, and what is too old to remember is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatkey_server.peers.seen import WINDOW, Seen


def test_a_number_is_new_once() -> None:
    seen = Seen()

    assert [seen.note(seq) for seq in (1, 2, 2, 5, 4, 5, 3, 1, 4)] == [
        *(True, True, False),
        *(True, True, False),
        *(True, False, False),
    ]


@given(st.lists(st.integers(1, 3 * WINDOW) | st.integers(1, 2**31 - 1), max_size=200))
def test_it_remembers_the_newest_and_forgets_nothing_among_them(numbers: list[int]) -> None:
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
