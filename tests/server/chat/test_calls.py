"""Tests of calls: they ring, are taken and end. A person can have one call, which ends when the caller disconnects."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.tables import Call, ChatCustomer, Conversation

Fixture = Any


async def call(chat: Fixture, person: Fixture) -> Any:
    return (await chat.call(person, name=None, source="here")).event


async def the_conversation() -> Any:
    conversation = await Conversation.objects().first()
    assert conversation is not None
    return conversation.id


async def states() -> list[str]:
    return [row["state"] for row in await Call.select(Call.state).order_by(Call.started_at)]


async def test_there_is_one_call_at_a_time(chat: Fixture, ann: Fixture) -> None:
    events = await asyncio.gather(*(call(chat, ann) for _ in range(5)))

    assert len({event["call_id"] for event in events}) == 1
    assert await states() == ["ringing"]


@pytest.mark.contract("2.7/custom-on-first")
async def test_a_custom_member_gets_a_record_with_the_first_call(chat: Fixture, ann: Fixture) -> None:
    await chat.call(ann, name="Ann from the header", source="here")

    assert await ChatCustomer.select(ChatCustomer.name) == [{"name": "Ann from the header"}]


async def test_taking_a_call_again_takes_it_once_and_tells_it_again(
    chat: Fixture, ann: Fixture, eve: Fixture, listen: Fixture, time: Fixture
) -> None:
    """The process that first took the call may have died before it could report this."""
    own = listen(ann)
    await call(chat, ann)

    conversation = await the_conversation()
    await asyncio.gather(*(chat.take_call(conversation, agent=eve) for _ in range(3)))
    taken_at, time.now = int(time.now), time.now + 5
    await chat.take_call(conversation, agent=eve)
    await chat.hang_up(ann, source="")

    assert [(await own.next())[0]["state"] for _ in range(6)] == ["ringing", *["active"] * 4, "ended"]
    assert await Call.select(Call.answered_at) == [{"answered_at": taken_at}]


async def test_if_two_pages_accept_a_call_at_once_one_of_them_gets_it(
    chat: Fixture, ann: Fixture, eve: Fixture, make_agent: Fixture
) -> None:
    await call(chat, ann)
    conversation, mia = await the_conversation(), await make_agent("mia")

    accepting = (chat.take_call(conversation, agent=agent, accepted_by=agent.name) for agent in (eve, mia))
    outcomes = await asyncio.gather(*accepting, return_exceptions=True)

    lost = next(outcome for outcome in outcomes if isinstance(outcome, Refused))
    winner = next(name for name, outcome in zip((eve.name, mia.name), outcomes, strict=True) if outcome is not lost)
    assert lost.code == Code.CALL_TAKEN
    assert await Call.select(Call.state, Call.accepted_by) == [{"state": "active", "accepted_by": winner}]
