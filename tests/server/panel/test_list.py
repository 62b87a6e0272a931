"""Tests of the agents' list over the network: pages, filters and search. Strangers must not hide anyone (D-21)."""

from __future__ import annotations

from typing import Any

import pytest

from chatkey_protocol.codes import Close

Fixture = Any
JUNK = 250


@pytest.fixture
async def flooded(eve: Fixture, people: Fixture, clock: Fixture, agents: Fixture) -> Fixture:
    """An agent's page. The list contains one message from a member, then 250 messages from unknown visitors."""
    await people.write("ann", "where is my parcel?")
    for n in range(JUNK):
        clock.advance(1)
        await people.write(f"v_{n}", "junk", login="visitor")
    return await agents.page(eve)


async def uids(page: Fixture, **wanted: object) -> list[str]:
    return [item["uid"] for item in (await page.ask({"type": "list", "filter": wanted}))["items"]]


@pytest.mark.contract("D-21/list")
async def test_a_flood_of_visitors_hides_no_member(flooded: Fixture) -> None:
    newest = await uids(flooded)

    assert newest == [f"v_{n}" for n in range(JUNK - 1, JUNK - 51, -1)]
    assert await uids(flooded, members=True) == ["ann"]
    assert await uids(flooded, members=True, waiting=True) == ["ann"]
    assert await uids(flooded, query="ANN@shop") == ["ann"]


@pytest.mark.contract("D-21/list")
async def test_all_conversations_are_reached_page_by_page(flooded: Fixture) -> None:
    pages = [await flooded.ask({"type": "list", "id": "p0"})]
    while pages[-1]["more"]:
        last = pages[-1]["items"][-1]
        before = {"last_at": last["last_at"], "id": last["id"]}
        pages.append(await flooded.ask({"type": "list", "id": f"p{len(pages)}", "before": before}))

    listed = [item["uid"] for page in pages for item in page["items"]]
    assert [page["id"] for page in pages] == [f"p{n}" for n in range(6)]
    assert [len(page["items"]) for page in pages] == [50, 50, 50, 50, 50, 1]
    assert len(set(listed)) == JUNK + 1
    assert listed[-1] == "ann"


@pytest.mark.parametrize(
    "asked",
    [
        {"filter": {"query": "x" * 101}},
        {"filter": {"query": "a\0b"}},
        {"filter": {"provider": "p" * 65}},
        {"filter": {"provider": "\0"}},
        {"filter": {"members": "yes"}},
        {"before": {"last_at": 1}},
        {"before": {"last_at": -1, "id": "00000000-0000-0000-0000-000000000000"}},
        {"before": {"last_at": 2**64, "id": "00000000-0000-0000-0000-000000000000"}},
        {"id": "no id"},
    ],
)
async def test_an_impossible_list_request_is_a_bad_frame(asked: dict[str, object], panel: Fixture) -> None:
    await panel.send({"type": "list", **asked})

    assert (await panel.next())["code"] == "frame_invalid"
    assert (await panel.next())["code"] == Close.BAD_FRAME


async def test_the_longest_search_is_answered(panel: Fixture) -> None:
    assert await uids(panel, query="%_!" * 33) == []
