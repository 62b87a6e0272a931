"""Tests of a socket's background work. It must run in order, and only a limited amount may wait."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from chatkey_server.peers.in_turn import MOST_BYTES, OVERHEAD, InTurn


class Works:
    """Tasks that all wait until a test lets them continue."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.may_go_on = asyncio.Event()

    async def do(self, number: int) -> None:
        await self.may_go_on.wait()
        self.done.append(number)


@pytest.fixture
def works() -> Works:
    return Works()


async def test_work_is_done_in_order_and_settled_waits_no_longer_than_given(works: Works) -> None:
    turns = InTurn()
    for number in range(5):
        await turns.put(partial(works.do, number), 10)

    await turns.settled(0)
    before = [*works.done]
    works.may_go_on.set()
    await turns.settled()

    assert (before, works.done) == ([], [0, 1, 2, 3, 4])


async def test_the_queue_is_bounded(works: Works) -> None:
    turns = InTurn()
    count = 0

    async def flood() -> None:
        nonlocal count
        while True:
            await turns.put(partial(works.do, count), 100)
            count += 1

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(flood(), 0.1)

    assert count <= MOST_BYTES / (100 + OVERHEAD) + 2
    turns.cancel()


async def test_forgotten_work_is_dropped_and_running_work_is_finished(works: Works) -> None:
    turns = InTurn()
    for number in range(3):
        await turns.put(partial(works.do, number), 10)
    await asyncio.sleep(0)

    turns.forget()
    works.may_go_on.set()
    await turns.settled()

    assert works.done == [0]
