"""Tests of the rate limits of a panel page: frames per second, and reads and searches per minute."""

from __future__ import annotations

from typing import Any

from chatkey_protocol.codes import Close
from chatkey_server.settings import Limits

Fixture = Any


async def test_one_frame_too_many_within_a_second_closes_the_socket_and_another_page_goes_on(
    make_client: Fixture, make_agent: Fixture, agents: Fixture, clock: Fixture
) -> None:
    async with make_client(limits=Limits(frames_per_second=5)) as client:
        await make_agent("eve")
        page, other = await agents.page(client), await agents.page(client)

        answers = [(await page.ask({"type": "list"}))["type"] for _ in range(5)]
        refused, closed = await page.ask({"type": "list"}), await page.next()

        assert answers == ["conversations"] * 5
        assert (refused["type"], refused["code"]) == ("error", "rate_limited")
        assert (closed["type"], closed["code"]) == ("closed", Close.RATE_LIMITED)
        for _ in range(3):
            clock.advance(1)
            assert [(await other.ask({"type": "list"}))["type"] for _ in range(5)] == ["conversations"] * 5


async def test_reads_of_an_agent_are_limited_and_the_socket_stays(
    make_client: Fixture, make_agent: Fixture, agents: Fixture, clock: Fixture
) -> None:
    async with make_client(limits=Limits(histories_per_identity=3)) as client:
        await make_agent("eve")
        await make_agent("adam")
        page, second, other = await agents.page(client), await agents.page(client), await agents.page(client, "adam")

        for asked in (page, second, page):
            assert (await asked.ask({"type": "list"}))["type"] == "conversations"
        refused = await second.ask({"type": "list", "id": "l1"})

        assert (refused["code"], refused["id"], refused["retry_after"]) == ("rate_limited", "l1", 20)
        assert (await other.ask({"type": "list"}))["type"] == "conversations"
        clock.advance(20)
        assert (await second.ask({"type": "list"}))["type"] == "conversations"


async def test_searches_of_an_agent_have_their_own_limit(
    make_client: Fixture, make_agent: Fixture, agents: Fixture
) -> None:
    async with make_client(limits=Limits(searches_per_identity=2)) as client:
        await make_agent("eve")
        page = await agents.page(client)
        search = {"type": "list", "filter": {"query": "hello"}}

        answers = [await page.ask(search) for _ in range(3)]

        assert [answer.get("code", answer["type"]) for answer in answers] == [
            "conversations",
            "conversations",
            "rate_limited",
        ]
        assert (await page.ask({"type": "list"}))["type"] == "conversations"
