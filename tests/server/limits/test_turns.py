"""Tests of turns for expensive work: a few callers run, a few wait, and all others are refused."""

from __future__ import annotations

import asyncio

import pytest

from chatkey_server.identity.errors import RateLimited
from chatkey_server.limits.turns import Turns


async def test_running_and_waiting_turns_are_limited() -> None:
    turns = Turns("searches", at_once=1, waiting=1)
    ended, order = asyncio.Event(), list[str]()

    async def work(name: str) -> None:
        async with turns.turn():
            order.append(name)
            await ended.wait()

    first, second = asyncio.create_task(work("first")), asyncio.create_task(work("second"))
    await asyncio.sleep(0)

    with pytest.raises(RateLimited, match="Too many searches at once; try again in 1 s"):
        await work("third")

    assert order == ["first"]
    ended.set()
    await asyncio.gather(first, second)
    await work("fourth")
    assert order == ["first", "second", "fourth"]


async def test_a_cancelled_waiting_turn_makes_room() -> None:
    turns = Turns("searches", at_once=1, waiting=1)
    ended = asyncio.Event()

    async def work() -> None:
        async with turns.turn():
            await ended.wait()

    first, second = asyncio.create_task(work()), asyncio.create_task(work())
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])

    third = asyncio.create_task(work())
    ended.set()

    await asyncio.gather(first, third)
