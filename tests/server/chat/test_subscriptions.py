"""Tests how a process subscribes to channels in Redis: exactly the wanted ones, each of which is confirmed once."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkey_server.chat.seal import Seal
from chatkey_server.chat.subscriptions import Subscriptions

SEAL = Seal([b"o" * 32, b"n" * 32])
CHANNELS = ("a", "b", "c")


class Broker:
    """A simulated Redis that processes requests in order, each at the test's command."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self.listening: set[str] = set()
        self._subscriptions = subscriptions
        self._asked: deque[tuple[bool, str]] = deque()

    def ask(self) -> None:
        leave, join = self._subscriptions.changes()
        self._asked.extend((False, name) for names in leave for name in names)
        self._asked.extend((True, name) for names in join for name in names)

    def answer(self) -> str | None:
        """Process the next request. Returns the channel whose subscription is now complete, if there is one."""
        if not self._asked:
            return None
        is_join, name = self._asked.popleft()
        if not is_join:
            self.listening.discard(name)
            return None
        self.listening.add(name)
        return self._subscriptions.confirm(name)

    def answer_all(self) -> list[str]:
        """Process all requests, and return the channels whose subscription is now complete."""
        heard: list[str] = []
        while self._asked:
            channel = self.answer()
            heard += [] if channel is None else [channel]
        return heard

    def hears(self, channel: str) -> bool:
        """Return whether a channel is subscribed under the name that each key gives it."""
        return self.listening.issuperset(SEAL.names(channel))


@pytest.fixture
def subscriptions() -> Subscriptions:
    made = Subscriptions(SEAL)
    made.begin()
    return made


def test_what_is_wanted_is_asked_for_by_every_key_and_told_when_the_last_is_heard(subscriptions: Subscriptions) -> None:
    broker = Broker(subscriptions)

    subscriptions.want("a")
    broker.ask()

    assert [broker.answer(), broker.answer()] == [None, "a"]
    assert broker.hears("a")


def test_who_goes_before_anything_was_asked_costs_nothing(subscriptions: Subscriptions) -> None:
    subscriptions.want("a")
    subscriptions.leave("a")

    assert subscriptions.changes() == ([], [])


def test_who_comes_back_before_it_was_left_has_missed_nothing(subscriptions: Subscriptions) -> None:
    broker = Broker(subscriptions)
    subscriptions.want("a")
    broker.ask()
    broker.answer_all()

    subscriptions.leave("a")
    subscriptions.want("a")

    assert subscriptions.changes() == ([], [])
    assert broker.hears("a")


def test_an_answer_to_a_wish_of_before_is_not_taken_for_that_to_the_newest(subscriptions: Subscriptions) -> None:
    broker = Broker(subscriptions)
    for change in (subscriptions.want, subscriptions.leave, subscriptions.want):
        change("a")
        broker.ask()

    first = [broker.answer() for _ in SEAL.names("a")]

    assert first == [None, None]
    assert broker.answer_all() == ["a"]


def test_a_new_connection_asks_for_all_that_is_wanted_and_tells_of_what_was_never_heard(
    subscriptions: Subscriptions,
) -> None:
    broker = Broker(subscriptions)
    subscriptions.want("a")
    broker.ask()
    broker.answer_all()
    subscriptions.lose()
    subscriptions.want("b")

    subscriptions.begin()
    anew = Broker(subscriptions)
    anew.ask()

    assert anew.answer_all() == ["b"]  # for "a", which was heard before, the process reports a gap
    assert anew.hears("a")
    assert anew.hears("b")


@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["want", "leave"]), st.sampled_from(CHANNELS)),
            st.sampled_from([("ask", ""), ("answer", "")]),
        )
    )
)
def test_in_whatever_order_nothing_wanted_stays_unheard_and_no_gap_untold(steps: list[tuple[str, str]]) -> None:
    """Each wanted channel must be subscribed in the end, and a delayed subscription must be reported."""
    subscriptions = Subscriptions(SEAL)
    subscriptions.begin()
    broker, wanted, gaps = Broker(subscriptions), set[str](), set[str]()
    for step, channel in [*steps, ("ask", ""), ("all", "")]:
        told: list[str] = []
        if step == "want":
            subscriptions.want(channel)
            wanted.add(channel)
        elif step == "leave":
            subscriptions.leave(channel)
            wanted.discard(channel)
            gaps.discard(channel)
        elif step == "ask":
            broker.ask()
        elif step == "answer":
            told = [heard for heard in [broker.answer()] if heard is not None]
        else:
            told = broker.answer_all()
        assert all(broker.hears(heard) for heard in told)
        gaps |= {channel for channel in wanted if not broker.hears(channel)}
        gaps -= set(told)

    assert gaps == set()
    assert {channel for channel in CHANNELS if broker.hears(channel)} == wanted
