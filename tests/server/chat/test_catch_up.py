"""Tests of missed events. A process must read them from the database, and agents' pages must ask again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from structlog.testing import capture_logs

from chatkey_protocol.codes import Code
from chatkey_server.chat import catch_up, standing
from chatkey_server.chat.catch_up import MARGIN_SECONDS, MOST, CatchUp
from chatkey_server.chat.conversations import Draft, append, lock_own
from chatkey_server.chat.events import AGENT_SESSIONS, AGENTS, PROVIDERS, agents_channel, customer_channel, read_event
from chatkey_server.chat.hub import MISSED, Hub
from chatkey_server.chat.service import Chat
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import SocketIdentity
from chatkey_server.limits.rates import Rates
from chatkey_server.peers.seen import Seen
from chatkey_server.settings import Limits
from chatkey_server.storage.engine import Database, snapshot, transaction
from chatkey_server.storage.tables import Conversation

Fixture = Any

pytestmark = pytest.mark.contract("D-15/deaf")

HOUR = 3600
WRONG_CLOCKS = pytest.mark.parametrize("ahead", [0, -HOUR, HOUR], ids=["equal", "behind", "ahead"])


class Elsewhere:
    """The chat of another process. Its events do not reach this process, and its clock may differ."""

    def __init__(self, time: Fixture, limits: Limits) -> None:
        self.ahead = 0.0
        self._time = time
        self.chat = Chat(Hub(), limits, Rates(limits, time), now=lambda: time.now + self.ahead)

    async def post(self, person: SocketIdentity, message_id: str) -> None:
        await self.chat.post(person, message_id, f"I am {message_id}", name=None, source="there")

    async def answer(self, agent: Fixture) -> None:
        conversation = await Conversation.objects().first()
        assert conversation is not None
        await self.chat.answer(conversation.id, "a1", "Can I help?", agent=agent)


class Tab:
    """Records what one socket receives.

    `floor` is the number of the newest message in the history that the tab has read, or None.
    """

    def __init__(self, floor: int | None) -> None:
        self.seen = Seen()
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        self.is_ended = False
        if floor is not None:
            self.seen.settle(floor)

    def hear(self, payload: bytes) -> None:
        event = read_event(payload)
        if self.seen.note(event.seq) if event.seq else self.seen.note_call(*(event.call or ("", ""))):
            self.told.put_nowait(event)

    def on_erased(self) -> None:
        self.is_ended = True

    async def next(self) -> str:
        """Return the number of the next message, or the state of the next call."""
        event = await asyncio.wait_for(self.told.get(), 10)
        return str(event.call[1]) if event.call else str(event.seq)


@pytest.fixture
def elsewhere(database: Database, time: Fixture, limits: Limits) -> Elsewhere:
    return Elsewhere(time, limits)


class Here:
    """A process with open tabs. The process may have missed events."""

    def __init__(self, hub: Hub, time: Fixture) -> None:
        self.hub = hub
        self.catch_up = CatchUp(hub, now=time)
        self.leaving = ExitStack()

    def tab(self, person: SocketIdentity, floor: int | None = 0) -> Tab:
        tab = Tab(floor)
        self.leaving.enter_context(self.hub.listen(channel_of(person), tab.hear))
        self.catch_up.follow((person.pid, person.login, person.uid), tab.seen, tab.on_erased)
        return tab

    def missed(self) -> None:
        """Report to the process that events may have been missed."""
        self.hub.publish(MISSED, b"")

    def joined(self, channel: str) -> None:
        """Report to the process that it now receives the events of a channel."""
        self.hub._joined(channel)

    async def looked(self) -> None:
        """Wait until the process has finished its current read of the database."""
        assert self.catch_up._looking is not None
        await self.catch_up._looking

    async def catches_up(self) -> None:
        """Report that events may have been missed, and wait until the process has read the database."""
        self.missed()
        await self.looked()


def channel_of(person: SocketIdentity) -> str:
    return customer_channel(person.pid, person.login, person.uid)


@pytest.fixture
def here(hub: Hub, time: Fixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    monkeypatch.setattr(catch_up, "GATHER_SECONDS", 0)
    monkeypatch.setattr(catch_up, "AGAIN_SECONDS", 0)
    made = Here(hub, time)
    with made.leaving:
        yield made


@WRONG_CLOCKS
async def test_a_message_of_a_host_with_a_wrong_clock_is_sent(
    elsewhere: Elsewhere, ann: Fixture, eve: Fixture, here: Here, ahead: float
) -> None:
    await elsewhere.post(ann, "before")
    tab = here.tab(ann, floor=1)
    elsewhere.ahead = ahead
    await elsewhere.post(ann, "meanwhile")
    elsewhere.ahead = 0  # so that the agent's session is valid
    await elsewhere.answer(eve)

    await here.catches_up()

    assert [await tab.next(), await tab.next()] == ["2", "3"]
    assert tab.told.empty()
    assert tab.seen.floor == 3


@WRONG_CLOCKS
async def test_a_call_of_a_host_with_a_wrong_clock_is_sent(
    elsewhere: Elsewhere, ann: Fixture, eve: Fixture, here: Here, ahead: float
) -> None:
    tab = here.tab(ann)
    elsewhere.ahead = ahead
    await elsewhere.chat.call(ann, name=None, source="there")

    await here.catches_up()
    await here.catches_up()
    await elsewhere.chat.hang_up(ann, source="there")
    await here.catches_up()

    assert [await tab.next(), await tab.next()] == ["ringing", "ended"]
    assert tab.told.empty()


async def test_a_call_that_ended_and_one_that_began_are_both_sent(
    elsewhere: Elsewhere, ann: Fixture, here: Here
) -> None:
    tab = here.tab(ann)
    await elsewhere.chat.call(ann, name=None, source="there")
    await here.catches_up()
    await elsewhere.chat.hang_up(ann, source="there")
    await elsewhere.chat.call(ann, name=None, source="there")

    await here.catches_up()

    assert [await tab.next() for _ in range(3)] == ["ringing", "ended", "ringing"]


async def test_each_of_two_tabs_gets_its_missing_messages(elsewhere: Elsewhere, ann: Fixture, here: Here) -> None:
    for number in range(3):
        await elsewhere.post(ann, f"m{number}")
    behind, ahead = here.tab(ann, floor=0), here.tab(ann, floor=3)
    behind.seen.note(2)  # this tab wrote message 2 itself

    await here.catches_up()

    assert [await behind.next(), await behind.next()] == ["1", "3"]
    assert (behind.told.empty(), behind.seen.floor) == (True, 3)
    assert ahead.told.empty()


async def test_one_query_covers_all_people_without_missing_messages(
    elsewhere: Elsewhere,
    make_person: Fixture,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    standings = standing.standings

    async def counted(people: Any) -> Any:
        asked.append(len(people))
        return await standings(people)

    async def unexpected(wanted: Any) -> Any:
        raise AssertionError(f"{wanted} was read")

    monkeypatch.setattr(standing, "standings", counted)
    monkeypatch.setattr(standing, "_numbered", unexpected)
    for number in range(20):
        person = make_person(f"p{number}")
        await elsewhere.post(person, "known")
        here.tab(person, floor=1)
        here.tab(person, floor=1)

    await here.catches_up()

    assert asked == [20]


async def test_many_people_are_looked_up_in_batches(
    elsewhere: Elsewhere,
    make_person: Fixture,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catch_up, "AT_ONCE", 2)
    monkeypatch.setattr(standing, "AT_ONCE", 2)
    people = [make_person(f"p{number}") for number in range(5)]
    tabs = [here.tab(person) for person in people]
    for person in people:
        for number in range(3):
            await elsewhere.post(person, f"m{number}")

    await here.catches_up()

    assert [[await tab.next() for _ in range(3)] for tab in tabs] == [["1", "2", "3"]] * 5


async def test_beyond_the_limit_only_the_newest_messages_are_sent(database: Database, ann: Fixture, here: Here) -> None:
    async with transaction():
        for number in range(MOST + 5):
            own = await lock_own(ann, None, 1.0)
            await append(own, Draft(f"m{number}", "customer", None, "x"), 1.0)
    tab = here.tab(ann)

    await here.catches_up()

    assert (tab.told.qsize(), await tab.next(), tab.seen.floor) == (MOST, "6", MOST + 5)


async def test_agents_are_told_to_ask_again_whichever_businesses_they_answer_for(
    database: Database, listen: Fixture, here: Here
) -> None:
    agents = listen()

    for _ in range(3):
        here.missed()

    assert await agents.next() == ({"type": "missed"}, "")
    assert agents.waiting == 0


@pytest.mark.parametrize("is_join", [False, True], ids=["missed", "joined"])
async def test_a_look_that_fails_for_the_database_is_repeated(
    elsewhere: Elsewhere, ann: Fixture, here: Here, monkeypatch: pytest.MonkeyPatch, is_join: bool
) -> None:
    tab = here.tab(ann)
    await elsewhere.post(ann, "meanwhile")
    tries = iter([True, True])

    def away_at_first() -> Any:
        if next(tries, False):
            raise Refused(Code.UNAVAILABLE, "The database cannot be reached; try again in a moment.")
        return snapshot()

    monkeypatch.setattr(catch_up, "snapshot", away_at_first)

    with capture_logs() as events:
        here.joined(channel_of(ann)) if is_join else here.missed()
        assert await tab.next() == "1"

    assert [event["event"] for event in events] == ["hub.catching_up"] * 2


async def test_a_tab_without_history_gets_only_recent_messages(
    elsewhere: Elsewhere, make_person: Fixture, here: Here, time: Fixture
) -> None:
    ann, bob = make_person("ann"), make_person("bob")
    await elsewhere.post(ann, "long before")
    time.now += 2 * MARGIN_SECONDS
    for person in (ann, bob):
        await elsewhere.post(person, "meanwhile")
    await elsewhere.chat.call(ann, name=None, source="there")
    own, foreign = here.tab(ann, floor=None), here.tab(bob, floor=None)

    here.joined(channel_of(ann))
    await here.looked()

    assert [await own.next(), await own.next()] == ["2", "ringing"]
    assert own.told.empty()
    assert foreign.told.empty()


async def test_after_the_first_look_messages_are_selected_by_number(
    elsewhere: Elsewhere, ann: Fixture, here: Here
) -> None:
    """The tab was opened while Redis was unavailable. After that, one read of the conversation must be enough."""
    elsewhere.ahead = -HOUR
    await elsewhere.post(ann, "before")
    tab = here.tab(ann, floor=None)
    here.joined(channel_of(ann))
    await here.looked()
    await elsewhere.post(ann, "meanwhile")

    await here.catches_up()

    assert await tab.next() == "2"
    assert tab.told.empty()


async def test_a_conversation_that_begins_meanwhile_is_told(elsewhere: Elsewhere, ann: Fixture, here: Here) -> None:
    tab = here.tab(ann, floor=None)
    here.joined(channel_of(ann))
    await here.looked()
    elsewhere.ahead = -HOUR
    await elsewhere.post(ann, "first")

    await here.catches_up()

    assert await tab.next() == "1"


async def test_people_who_left_are_not_looked_up(elsewhere: Elsewhere, ann: Fixture, here: Here) -> None:
    person, seen = (ann.pid, ann.login, ann.uid), Seen()
    here.catch_up.follow(person, seen, lambda: None)
    here.joined(channel_of(ann))
    here.catch_up.leave(person, seen)

    await here.looked()

    assert (here.catch_up._followers, seen.floor) == ({}, None)


@pytest.mark.parametrize("channel", [AGENTS, agents_channel("prov")])
async def test_agents_are_told_to_ask_again_once_their_channel_is_subscribed(channel: str, here: Here) -> None:
    heard: list[bytes] = []
    with here.hub.listen(channel, heard.append):
        here.joined(channel)

    assert [bytes(read_event(payload).frame) for payload in heard] == [b'{"type":"missed"}']


@pytest.mark.parametrize("channel", [AGENT_SESSIONS, PROVIDERS])
async def test_sessions_and_providers_are_looked_up_once_their_channel_is_subscribed(channel: str, here: Here) -> None:
    heard: list[bytes] = []
    with here.hub.listen(channel, heard.append):
        here.joined(channel)

    assert heard == [b""]


async def test_a_running_look_is_cancelled_before_the_database_is_closed(hub: Hub, time: Fixture) -> None:
    before = asyncio.all_tasks()

    async with CatchUp(hub, now=time).running():
        hub.publish(MISSED, b"")
        looking = asyncio.all_tasks() - before

    assert [task.cancelled() for task in looking] == [True]


async def test_the_sockets_of_a_person_who_was_erased_are_ended_and_no_others(
    elsewhere: Elsewhere, ann: Fixture, make_person: Fixture, here: Here
) -> None:
    bob = make_person("bob")
    for person in (ann, bob):
        await elsewhere.post(person, f"from {person.uid}")
    tabs = [here.tab(ann, floor=1), here.tab(bob, floor=1)]
    new_tab = here.tab(ann, floor=None)
    await here.catches_up()
    assert not any(tab.is_ended for tab in (*tabs, new_tab))

    async with transaction():
        await Conversation.delete().where(Conversation.uid == ann.uid)
    await here.catches_up()

    assert [tab.is_ended for tab in (*tabs, new_tab)] == [True, False, True]


async def test_a_socket_that_connects_after_the_erasure_is_not_ended(
    elsewhere: Elsewhere, ann: Fixture, here: Here
) -> None:
    await elsewhere.post(ann, "erased")
    before = here.tab(ann, floor=1)
    async with transaction():
        await Conversation.delete().where(Conversation.uid == ann.uid)
    after = here.tab(ann, floor=None)
    await elsewhere.chat.call(ann, name=None, source="there")

    await here.catches_up()

    assert (before.is_ended, after.is_ended) == (True, False)
    assert await after.next() == "ringing"
