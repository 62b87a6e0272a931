"""Tests of when a process looks at the calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from chatkey_server.chat import calls
from chatkey_server.chat.call_keeper import CallKeeper
from chatkey_server.clock import Clock
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from chatkey_server.chat.service import Chat


class Keeper(CallKeeper):
    """A keeper that only reports that it looks."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(cast("Chat", None), clock)
        self.looked = asyncio.Event()

    async def keep_once(self) -> None:
        self.looked.set()


async def test_a_keeper_looks_when_its_clock_is_moved_forward() -> None:
    clock = Clock(lambda: 1000.0)
    keeper = Keeper(clock)

    async with keeper.running(), asyncio.timeout(PATIENCE):
        while not keeper.looked.is_set():
            clock.advance(calls.KEEP_SECONDS)
            await asyncio.sleep(0)


async def test_a_keeper_looks_although_its_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "KEEP_SECONDS", 0.01)
    times = [1000.0]
    clock = Clock(lambda: times[-1])
    keeper = Keeper(clock)

    async with keeper.running(), asyncio.timeout(PATIENCE):
        await asyncio.sleep(0)  # the keeper waits for the time that is next by the later clock
        times.append(0.0)
        await keeper.looked.wait()
