"""Over the network, an agent must not be able to read, write or receive anything of another business (D-21)."""

from __future__ import annotations

from typing import Any

import pytest

from chatkey_server.storage.tables import Call

Fixture = Any
NOWHERE = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
async def bob(eve: Fixture, agents: Fixture, make_agent: Fixture) -> Fixture:
    """The open page of bob, an agent for the business `prov` only. The agent eve is for all businesses."""
    await make_agent("bob", ("prov",))
    return await agents.page(eve, "bob")


@pytest.fixture
async def foreign(eve: Fixture, people: Fixture, agents: Fixture) -> str:
    """A conversation of another business, with a message and a call."""
    page = await agents.page(eve)
    await people.write("zoe", "for another shop", provider="other")
    conversation: str = (await page.next())["conversation"]
    await people.call("zoe", provider="other")
    return conversation


@pytest.mark.contract("D-21/businesses")
async def test_lists_filters_and_search_hold_their_own_businesses_only(
    bob: Fixture, foreign: str, people: Fixture
) -> None:
    await people.write("ann")
    await bob.next()

    everything, of_other, found, own = [
        await bob.ask({"type": "list", "filter": wanted})
        for wanted in ({}, {"provider": "other"}, {"query": "zoe"}, {"query": "ann"})
    ]

    assert [item["uid"] for item in everything["items"]] == ["ann"]
    assert [row["id"] for row in everything["providers"]] == ["prov"]
    assert (of_other["items"], found["items"]) == ([], [])
    assert [item["uid"] for item in own["items"]] == ["ann"]


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "thread"},
        {"type": "thread", "before": 2},
        {"type": "answer", "id": "a1", "body": "hello from next door"},
        {"type": "call", "action": "accept"},
        {"type": "call", "action": "end"},
    ],
)
@pytest.mark.contract("D-21/businesses")
async def test_a_conversation_of_another_business_is_as_unknown_as_one_that_is_not_there(
    frame: dict[str, object], bob: Fixture, foreign: str, eve: Fixture, agents: Fixture
) -> None:
    refused = await bob.ask({**frame, "conversation": foreign})
    missing = await bob.ask({**frame, "conversation": NOWHERE})
    allowed = await (await agents.page(eve)).ask({**frame, "conversation": foreign})

    assert refused["code"] == "not_found"
    assert refused == missing
    assert allowed["type"] != "error"


async def test_refused_frames_are_not_carried_out(bob: Fixture, foreign: str, people: Fixture) -> None:
    await bob.ask({"type": "answer", "conversation": foreign, "id": "a1", "body": "hello from next door"})
    await bob.ask({"type": "call", "conversation": foreign, "action": "end"})

    assert [entry["body"] for entry in await people.read("zoe", provider="other")] == ["for another shop"]
    assert await Call.select(Call.state) == [{"state": "ringing"}]


@pytest.mark.contract("D-21/businesses")
async def test_events_of_another_business_are_not_sent(
    bob: Fixture, eve: Fixture, agents: Fixture, people: Fixture
) -> None:
    everywhere = await agents.page(eve)

    await people.write("zoe", "for another shop", provider="other")
    await people.call("zoe", provider="other")
    await people.write("ann", "for this shop")

    heard = [await everywhere.next() for _ in range(3)]
    assert [frame["type"] for frame in heard] == ["message", "call", "message"]
    assert (await bob.next())["message"]["body"] == "for this shop"
