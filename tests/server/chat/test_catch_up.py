"""What a process did not hear is in the database: its sockets are told from there, and agents' pages to look again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from chatkey_protocol.codes import Code
from chatkey_server.chat import catch_up
from chatkey_server.chat.catch_up import MARGIN_SECONDS, CatchUp
from chatkey_server.chat.events import AGENT_SESSIONS, AGENTS, PROVIDERS, agents_channel, customer_channel, read_event
from chatkey_server.chat.hub import MISSED, Hub, missed
from chatkey_server.chat.service import Chat
from chatkey_server.identity.errors import Refused
from chatkey_server.limits.rates import Rates
from chatkey_server.settings import Limits
from chatkey_server.storage.engine import Database, snapshot
from chatkey_server.storage.tables import Conversation

Fixture = Any

pytestmark = pytest.mark.contract("D-15/deaf")


@pytest.fixture
def elsewhere(database: Database, time: Fixture, limits: Limits) -> Chat:
    """The chat of another process, of which nothing is heard here."""
    return Chat(Hub(), limits, Rates(limits, time), now=time)


class Away:
    """A process that may not have heard everything."""

    def __init__(self, hub: Hub, time: Fixture) -> None:
        self._hub = hub
        self._time = time

    def for_(self, seconds: float) -> None:
        """Say that of the last so many seconds something may not have been heard."""
        self._hub.publish(MISSED, missed(seconds))

    def until_joined(self, channel: str) -> None:
        """Say that a channel is heard from now on, and was wanted before."""
        self._hub._joined(channel, 0.5)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._time.now += seconds


@pytest.fixture
def away(hub: Hub, time: Fixture, monkeypatch: pytest.MonkeyPatch) -> Away:
    monkeypatch.setattr(catch_up, "GATHER_SECONDS", 0)
    monkeypatch.setattr(catch_up, "AGAIN_SECONDS", 0)
    CatchUp(hub, now=time)
    return Away(hub, time)


async def post(chat: Chat, person: Fixture, message_id: str) -> None:
    await chat.post(person, message_id, f"I am {message_id}", name=None, source="there")


async def answer(chat: Chat, agent: Fixture) -> None:
    conversation = await Conversation.objects().first()
    assert conversation is not None
    await chat.answer(conversation.id, "a1", "Can I help?", agent=agent)


async def test_what_was_said_meanwhile_is_told_in_order(
    elsewhere: Chat, ann: Fixture, eve: Fixture, listen: Fixture, away: Away
) -> None:
    await post(elsewhere, ann, "before")
    away.wait(100 + MARGIN_SECONDS)
    own = listen(ann)
    await post(elsewhere, ann, "meanwhile")
    await answer(elsewhere, eve)

    away.for_(5)

    heard = [(await own.next())[0] for _ in range(2)]
    assert [(frame["type"], frame["id"], frame["seq"], frame["body"]) for frame in heard] == [
        ("message", "meanwhile", 2, "I am meanwhile"),
        ("message", "a1", 3, "Can I help?"),
    ]
    assert own.waiting == 0


async def test_what_became_of_a_call_is_told(
    elsewhere: Chat, ann: Fixture, eve: Fixture, listen: Fixture, away: Away
) -> None:
    event = await elsewhere.call(ann, name=None, source="there")
    away.wait(1000)
    own = listen(ann)
    await elsewhere.hang_up(ann, source="there")

    away.for_(5)

    assert (await own.next())[0] == {"type": "call", "call_id": event["call_id"], "state": "ended"}


async def test_agents_are_told_to_look_again_whichever_businesses_they_answer_for(listen: Fixture, away: Away) -> None:
    agents = listen()

    away.for_(5)

    assert await agents.next() == ({"type": "missed"}, "")


async def test_of_several_who_were_away_the_longest_counts_and_one_looks_once(
    elsewhere: Chat, ann: Fixture, listen: Fixture, away: Away
) -> None:
    own, agents = listen(ann), listen()
    await post(elsewhere, ann, "long ago")
    away.wait(60)

    away.for_(5)
    away.for_(70)
    away.for_(1)

    assert (await own.next())[0]["id"] == "long ago"
    assert (own.waiting, await agents.next(), agents.waiting) == (0, ({"type": "missed"}, ""), 0)


async def test_what_the_database_cannot_tell_now_it_tells_later(
    elsewhere: Chat, ann: Fixture, listen: Fixture, away: Away, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = listen(ann)
    await post(elsewhere, ann, "meanwhile")
    tries = iter([True, True])

    def away_at_first() -> Any:
        if next(tries, False):
            raise Refused(Code.UNAVAILABLE, "The database cannot be reached; try again in a moment.")
        return snapshot()

    monkeypatch.setattr(catch_up, "snapshot", away_at_first)

    with capture_logs() as events:
        away.for_(5)
        assert (await own.next())[0]["id"] == "meanwhile"

    assert [event["event"] for event in events] == ["hub.catching_up"] * 2


async def test_what_was_said_before_a_persons_channel_was_heard_is_told_to_them_and_to_nobody_else(
    elsewhere: Chat, ann: Fixture, make_person: Fixture, listen: Fixture, away: Away
) -> None:
    bob = make_person("bob")
    own, foreign = listen(ann), listen(bob)
    await post(elsewhere, ann, "before")
    away.wait(100 + MARGIN_SECONDS)
    for person in (ann, bob):
        await post(elsewhere, person, "meanwhile")
    event = await elsewhere.call(ann, name=None, source="there")

    away.until_joined(customer_channel(ann.pid, ann.login, ann.uid))

    heard = [(await own.next())[0] for _ in range(2)]
    assert [frame.get("body") for frame in heard] == ["I am meanwhile", None]
    assert heard[1] == {"type": "call", "call_id": event["call_id"], "state": "ringing"}
    assert (own.waiting, foreign.waiting) == (0, 0)


async def test_it_is_told_when_the_database_is_back(
    elsewhere: Chat, ann: Fixture, listen: Fixture, away: Away, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = listen(ann)
    await post(elsewhere, ann, "meanwhile")
    tries = iter([True])

    def away_at_first() -> Any:
        if next(tries, False):
            raise Refused(Code.UNAVAILABLE, "The database cannot be reached; try again in a moment.")
        return snapshot()

    monkeypatch.setattr(catch_up, "snapshot", away_at_first)
    with capture_logs():
        away.until_joined(customer_channel(ann.pid, ann.login, ann.uid))

        assert (await own.next())[0]["id"] == "meanwhile"


@pytest.mark.parametrize("channel", [AGENTS, agents_channel("prov")])
async def test_agents_whose_channel_is_heard_at_last_are_told_to_look_again(channel: str, hub: Hub, away: Away) -> None:
    heard: list[bytes] = []
    with hub.listen(channel, heard.append):
        away.until_joined(channel)

    assert [bytes(read_event(payload).frame) for payload in heard] == [b'{"type":"missed"}']


@pytest.mark.parametrize("channel", [AGENT_SESSIONS, PROVIDERS])
async def test_what_may_have_ended_or_changed_before_it_was_heard_is_looked_up(
    channel: str, hub: Hub, away: Away
) -> None:
    heard: list[bytes] = []
    with hub.listen(channel, heard.append):
        away.until_joined(channel)

    assert heard == [b""]


async def test_a_look_that_is_under_way_is_over_before_the_database_is_closed(hub: Hub, time: Fixture) -> None:
    before = asyncio.all_tasks()

    async with CatchUp(hub, now=time).running():
        hub.publish(MISSED, missed(10))
        looking = asyncio.all_tasks() - before

    assert [task.cancelled() for task in looking] == [True]
