"""Tests how a process ends the call of a caller who is gone. A later call of another process must go on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.server.chat.test_calls import call, states
from tests.server.meeting import met

from chatkey_server.chat.events import customer_channel, read_event
from chatkey_server.chat.hub import Hub
from chatkey_server.chat.redis_link import RedisLink
from chatkey_server.chat.service import Chat
from chatkey_server.limits.rates import Rates
from chatkey_server.settings import Limits
from chatkey_server.storage.engine import Database
from chatkey_server.storage.tables import Conversation

Fixture = Any


@pytest.fixture
def make_chat(database: Database, time: Fixture, limits: Limits) -> Callable[[Hub], Chat]:
    """Create the chat of one more process."""
    return lambda hub: Chat(hub, limits, Rates(limits, time), now=time)


async def end_by_agent(chat: Chat, agent: Fixture) -> None:
    conversation = await Conversation.objects().first()
    assert conversation is not None
    await chat.end_call(conversation.id, agent=agent)


async def over(hub: Hub, person: Fixture) -> None:
    """Wait until the hub reports the end of the person's call."""
    told = asyncio.Event()

    def hear(payload: bytes) -> None:
        if json.loads(bytes(read_event(payload).frame)).get("state") == "ended":
            told.set()

    with hub.listen(customer_channel(person.pid, person.login, person.uid), hear):
        await asyncio.wait_for(told.wait(), 5)


@pytest.mark.parametrize(
    ("caller", "is_announced", "left"),
    [
        ("there", True, ["ended", "ringing"]),
        ("there", False, ["ended", "ringing"]),
        ("here", True, ["ended", "ended"]),
    ],
    ids=["another process", "another process, unannounced", "the same process"],
)
async def test_after_the_callers_socket_closes_only_a_later_call_of_another_process_goes_on(
    *,
    make_chat: Fixture,
    hub: Hub,
    ann: Fixture,
    eve: Fixture,
    time: Fixture,
    caller: str,
    is_announced: bool,
    left: list[str],
) -> None:
    deaf = Hub()
    async with deaf.running():
        chats = {"here": make_chat(hub), "there": make_chat(hub if is_announced else deaf)}
        await call(chats["here"], ann)
        await end_by_agent(chats["there"], eve)
        time.now += 1
        await call(chats[caller], ann)

    await chats["here"].gone(ann)

    assert await states() == left


async def test_nothing_is_kept_of_a_call_that_was_ended_through_redis(
    make_chat: Fixture, ann: Fixture, eve: Fixture, redis_url: str
) -> None:
    links = [RedisLink(redis_url, [b"k" * 32]) for _ in range(2)]
    first, second = map(Hub, links)
    async with first.running(), second.running():
        await met(*links)
        here, there = make_chat(first), make_chat(second)
        await call(here, ann)
        assert len(here.callers) == 1

        await end_by_agent(there, eve)
        await over(first, ann)

    assert len(here.callers) == 0
    assert not first._listeners


async def test_nothing_is_kept_of_a_caller_who_is_gone(
    make_chat: Fixture, hub: Hub, ann: Fixture, make_person: Fixture
) -> None:
    chat, bob = make_chat(hub), make_person("bob")
    for person in (ann, bob):
        await call(chat, person)

    await chat.gone(ann)

    assert len(chat.callers) == 1
    await chat.gone(bob)
    assert len(chat.callers) == 0
    assert not hub._listeners
