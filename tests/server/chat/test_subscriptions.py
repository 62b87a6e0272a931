"""Tests how a process subscribes to channels in Redis.

It must subscribe to exactly the wanted channels, and confirm each of them once.
"""

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
        """Each key gives the channel another name. Return whether all these names are subscribed."""
        return self.listening.issuperset(SEAL.names(channel))


@pytest.fixture
def subscriptions() -> Subscriptions:
    made = Subscriptions(SEAL)
    made.begin()
    return made


def test_a_channel_is_subscribed_under_every_key_and_reported_after_the_last(subscriptions: Subscriptions) -> None:
    broker = Broker(subscriptions)

    subscriptions.want("a")
    broker.ask()

    assert [broker.answer(), broker.answer()] == [None, "a"]
    assert broker.hears("a")


def test_leaving_before_the_subscription_sends_nothing(subscriptions: Subscriptions) -> None:
    subscriptions.want("a")
    subscriptions.leave("a")

    assert subscriptions.changes() == ([], [])


def test_returning_before_the_unsubscription_sends_nothing(subscriptions: Subscriptions) -> None:
    broker = Broker(subscriptions)
    subscriptions.want("a")
    broker.ask()
    broker.answer_all()

    subscriptions.leave("a")
    subscriptions.want("a")

    assert subscriptions.changes() == ([], [])
    assert broker.hears("a")


def test_an_answer_to_an_earlier_request_does_not_count_for_the_newest(subscriptions: Subscriptions) -> None:
    broker = Broker(subscriptions)
    for change in (subscriptions.want, subscriptions.leave, subscriptions.want):
        change("a")
        broker.ask()

    first = [broker.answer() for _ in SEAL.names("a")]

    assert first == [None, None]
    assert broker.answer_all() == ["a"]


def test_a_new_connection_subscribes_to_every_channel_and_reports_those_never_subscribed(
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
def test_in_any_order_every_wanted_channel_is_subscribed_and_every_gap_reported(steps: list[tuple[str, str]]) -> None:
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
