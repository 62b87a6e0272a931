"""Tests of the limits on stored data: each limit alone, and the data that does not count towards the limit."""

from __future__ import annotations

from typing import Any

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import RateLimited, Refused
from chatkey_server.limits.rates import Rates
from chatkey_server.settings import Limits
from chatkey_server.storage.tables import Message

Fixture = Any
FREE = {f"{what}_per_{of}": 0 for what in ("messages", "kilobytes") for of in ("identity", "address", "provider")}


@pytest.fixture
def bounded(chat: Fixture, time: Fixture) -> Fixture:
    """Give the chat a single storage limit. A limit of 24 per day allows one per hour."""

    def bound(**one: int) -> Fixture:
        chat._rates = Rates(Limits(**{**FREE, **one}), time)
        return chat

    return bound


async def post(chat: Fixture, person: Fixture, number: int, body: str = "hi", address: str = "192.0.2.1") -> None:
    await chat.post(person, f"m{number}", body, name=None, source="here", address=address)


async def refused(chat: Fixture, person: Fixture, number: int, **more: str) -> RateLimited:
    with pytest.raises(RateLimited) as refusal:
        await post(chat, person, number, **more)
    return refusal.value


async def test_every_person_has_a_quota(bounded: Fixture, time: Fixture, ann: Fixture, make_person: Fixture) -> None:
    chat = bounded(messages_per_identity=48)
    await post(chat, ann, 1)
    await post(chat, ann, 2)

    refusal = await refused(chat, ann, 3)

    assert refusal.message == "You have sent as many messages as the limit allows for now; try again in 1800 s."
    await post(chat, make_person("bob"), 1)
    time.now += 1800
    await post(chat, ann, 3)
    assert await Message.count() == 4


async def test_every_address_has_a_quota_for_all_its_people(bounded: Fixture, make_person: Fixture) -> None:
    chat = bounded(messages_per_address=48)
    for number in (1, 2):
        await post(chat, make_person(f"v_{number}", login="visitor"), number)

    refusal = await refused(chat, make_person("v_3", login="visitor"), 3)

    assert refusal.message.startswith("As many messages were sent from this address as the limit allows for now")
    await post(chat, make_person("v_3", login="visitor"), 3, address="192.0.2.2")


async def test_visitors_cannot_use_up_the_quota_of_members(
    bounded: Fixture, ann: Fixture, make_person: Fixture
) -> None:
    chat = bounded(messages_per_provider=24)
    await post(chat, make_person("v_1", login="visitor"), 1)

    refusal = await refused(chat, make_person("v_2", login="visitor"), 2)

    assert refusal.message.startswith("This chat has received as many messages as the limit allows for now")
    await post(chat, ann, 1)
    await post(chat, make_person("v_2", login="visitor", pid="other"), 1)


@pytest.mark.parametrize("of", ["identity", "address", "provider"])
async def test_bytes_count_as_they_are_stored(of: str, bounded: Fixture, ann: Fixture) -> None:
    chat = bounded(**{f"kilobytes_per_{of}": 24})
    for number in range(6):
        await post(chat, ann, number, "é" * 75)

    refusal = await refused(chat, ann, 6, body="é" * 50 + "a")

    assert refusal.code == Code.RATE_LIMITED
    await post(chat, ann, 7, "é" * 50)


async def test_calls_count_as_messages(bounded: Fixture, ann: Fixture) -> None:
    chat = bounded(messages_per_identity=24)
    await chat.call(ann, name=None, source="here", address="192.0.2.1")

    with pytest.raises(RateLimited):
        await chat.call(ann, name=None, source="here", address="192.0.2.1")


async def test_messages_that_were_not_stored_do_not_count(
    bounded: Fixture, ann: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = bounded(messages_per_identity=24)

    async def away(*_: object) -> None:
        raise Refused(Code.UNAVAILABLE, "away")

    with monkeypatch.context() as broken:
        broken.setattr("chatkey_server.chat.conversations.append", away)
        for _ in range(5):
            with pytest.raises(Refused, match="away"):
                await post(chat, ann, 1)

    await post(chat, ann, 1)


async def test_an_agents_answers_are_not_counted(bounded: Fixture, ann: Fixture, eve: Fixture) -> None:
    chat = bounded(**dict.fromkeys(FREE, 24))
    await post(chat, ann, 1)
    conversation = (await Message.select(Message.conversation))[0]["conversation"]

    for number in range(5):
        await chat.answer(conversation, f"a{number}", "hello", agent=eve)

    assert await Message.count() == 6


async def test_searches_are_counted_for_the_person_and_for_the_address(
    chat: Fixture, time: Fixture, ann: Fixture, make_person: Fixture
) -> None:
    chat._rates = Rates(Limits(searches_per_identity=2, searches_per_address=3), time)
    for _ in range(2):
        await chat.search(ann, "hi", address="192.0.2.1")

    with pytest.raises(RateLimited, match="You search too often; try again in 30 s"):
        await chat.search(ann, "hi", address="192.0.2.1")
    await chat.search(make_person("bob"), "hi", address="192.0.2.1")
    with pytest.raises(RateLimited, match="Clients that share your address search too often"):
        await chat.search(make_person("cem"), "hi", address="192.0.2.1")
    await chat.search(make_person("cem"), "hi", address="192.0.2.2")


async def test_pages_of_history_are_counted_for_the_person_and_for_the_address(
    chat: Fixture, time: Fixture, ann: Fixture, make_person: Fixture
) -> None:
    chat._rates = Rates(Limits(histories_per_identity=2, histories_per_address=3), time)
    for _ in range(2):
        await chat.history(ann, None, 50, address="192.0.2.1")

    with pytest.raises(RateLimited, match="You read too often; try again in 30 s"):
        await chat.history(ann, None, 50, address="192.0.2.1")
    await chat.history(make_person("bob"), None, 50, address="192.0.2.1")
    with pytest.raises(RateLimited, match="Clients that share your address read too often"):
        await chat.history(make_person("cem"), None, 50, address="192.0.2.1")
    await chat.history(make_person("cem"), None, 50, address="192.0.2.2")
