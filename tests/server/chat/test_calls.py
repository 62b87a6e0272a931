"""Tests of calls: they ring, are taken and end. A person can have one call, which ends when the caller disconnects."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chatkey_protocol.codes import Close, Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.tables import Call, ChatCustomer, Conversation

NOW = 1_800_000_000

Fixture = Any


async def call(chat: Fixture, person: Fixture) -> Any:
    return (await chat.call(person, name=None, source="here")).event


async def the_conversation() -> Any:
    conversation = await Conversation.objects().first()
    assert conversation is not None
    return conversation.id


async def states() -> list[str]:
    return [row["state"] for row in await Call.select(Call.state).order_by(Call.started_at)]


async def test_a_call_rings_is_accepted_and_ends(
    chat: Fixture, ann: Fixture, eve: Fixture, listen: Fixture, time: Fixture
) -> None:
    own, agents = listen(ann), listen()

    ringing = await call(chat, ann)
    time.now += 5
    active = await chat.take_call(await the_conversation(), agent=eve)
    time.now += 60
    ended = await chat.hang_up(ann, source="here")

    assert [event["state"] for event in (ringing, active, ended)] == ["ringing", "active", "ended"]
    assert len({event["call_id"] for event in (ringing, active, ended)}) == 1
    assert [await own.next() for _ in range(3)] == [(ringing, "here"), (active, ""), (ended, "here")]
    told = [(await agents.next())[0] for _ in range(3)]
    assert told == [{**event, "conversation": str(await the_conversation())} for event in (ringing, active, ended)]
    row = await Call.select(Call.started_at, Call.answered_at, Call.ended_at).first()
    assert row == {"started_at": NOW, "answered_at": NOW + 5, "ended_at": NOW + 65}


async def test_there_is_one_call_at_a_time(chat: Fixture, ann: Fixture) -> None:
    events = await asyncio.gather(*(call(chat, ann) for _ in range(5)))

    assert len({event["call_id"] for event in events}) == 1
    assert await states() == ["ringing"]


async def test_after_its_end_another_can_start(chat: Fixture, ann: Fixture, eve: Fixture, time: Fixture) -> None:
    first = await call(chat, ann)
    await chat.end_call(await the_conversation(), agent=eve)
    time.now += 1

    second = await call(chat, ann)

    assert first["call_id"] != second["call_id"]
    assert await states() == ["ended", "ringing"]


async def test_calling_again_returns_the_state_of_the_call(chat: Fixture, ann: Fixture, eve: Fixture) -> None:
    await call(chat, ann)
    await chat.take_call(await the_conversation(), agent=eve)

    assert (await call(chat, ann))["state"] == "active"


async def test_an_agent_can_refuse_it(chat: Fixture, ann: Fixture, eve: Fixture) -> None:
    await call(chat, ann)

    assert (await chat.end_call(await the_conversation(), agent=eve))["state"] == "ended"


@pytest.mark.contract("2.7/custom-on-first")
async def test_a_custom_member_gets_a_record_with_the_first_call(chat: Fixture, ann: Fixture) -> None:
    await chat.call(ann, name="Ann from the header", source="here")

    assert await ChatCustomer.select(ChatCustomer.name) == [{"name": "Ann from the header"}]


async def test_a_call_that_is_not_there_cannot_be_ended_or_taken(chat: Fixture, ann: Fixture, eve: Fixture) -> None:
    refused = []
    for _ in range(2):
        with pytest.raises(Refused) as refusal:
            await chat.hang_up(ann, source="here")
        refused.append(refusal.value)
        await chat.post(ann, "m1", "hi", name=None, source="here")
    for ask in (chat.take_call, chat.end_call):
        with pytest.raises(Refused) as refusal:
            await ask(await the_conversation(), agent=eve)
        refused.append(refusal.value)

    assert [(r.code, r.meaning.close, r.member) for r in refused] == [
        (Code.CALL_UNKNOWN, Close.BAD_FRAME, "action")
    ] * 4


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


async def test_the_call_ends_when_the_callers_last_socket_is_gone(
    chat: Fixture, ann: Fixture, make_person: Fixture
) -> None:
    await call(chat, ann)

    await chat.gone(make_person("bob"))
    assert await states() == ["ringing"]
    await chat.gone(ann)
    assert await states() == ["ended"]


async def test_leaving_after_the_end_of_a_call_changes_nothing(chat: Fixture, ann: Fixture, eve: Fixture) -> None:
    await call(chat, ann)
    await chat.end_call(await the_conversation(), agent=eve)

    await chat.gone(ann)

    assert await states() == ["ended"]
