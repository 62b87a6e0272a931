"""Tests of the server's clock, and of waits that use this clock."""

from __future__ import annotations

import asyncio

import pytest

from chatkey_server.clock import Clock
from chatkey_stack.patience import PATIENCE


@pytest.mark.contract("D-13/clock")
def test_the_clock_shows_the_time_of_its_source_plus_the_advance() -> None:
    clock = Clock(lambda: 1000.0)

    moved = clock.advance(86_400)

    assert moved == clock() == 87_400.0
    assert clock.reset() == clock() == 1000.0


def alarm_of(clock: Clock, when: float) -> asyncio.Event:
    due = asyncio.Event()
    clock.call_at(when, due.set)
    return due


async def turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_an_alarm_goes_off_when_the_clock_is_moved_past_its_time_and_not_before() -> None:
    clock = Clock(lambda: 1000.0)
    due = alarm_of(clock, 1060.0)

    clock.advance(59)
    await turns()
    was_due = due.is_set()
    clock.advance(1)

    assert not was_due
    await asyncio.wait_for(due.wait(), PATIENCE)


async def test_a_move_without_alarms_delays_them_to_the_next_move() -> None:
    clock = Clock(lambda: 1000.0)
    due = alarm_of(clock, 1060.0)

    moved = clock.advance(60, alarms=False)
    await turns()
    was_due = due.is_set()
    clock.advance(0)

    assert (moved, was_due) == (1060.0, False)
    await asyncio.wait_for(due.wait(), PATIENCE)


async def test_an_alarm_goes_off_by_itself() -> None:
    clock = Clock()

    await asyncio.wait_for(alarm_of(clock, clock() + 0.01).wait(), PATIENCE)


async def test_an_alarm_for_a_past_time_goes_off_at_once() -> None:
    clock = Clock(lambda: 1000.0)

    await asyncio.wait_for(alarm_of(clock, 999.0).wait(), PATIENCE)


async def test_an_alarm_goes_off_once() -> None:
    clock = Clock(lambda: 1000.0)
    calls: list[float] = []
    clock.call_at(1010.0, lambda: calls.append(clock()))

    clock.advance(10)
    clock.advance(10)
    await turns()

    assert calls == [1020.0]
    assert not clock.alarms


async def test_a_cancelled_alarm_leaves_nothing_behind() -> None:
    clock = Clock(lambda: 1000.0)
    calls: list[float] = []
    alarm = clock.call_at(1010.0, lambda: calls.append(clock()))

    clock.advance(10)
    alarm.cancel()
    await turns()

    assert calls == []
    assert not clock.alarms


async def test_another_thread_may_move_the_clock() -> None:
    clock = Clock(lambda: 1000.0)
    due = alarm_of(clock, 1060.0)

    await asyncio.to_thread(clock.advance, 60)

    await asyncio.wait_for(due.wait(), PATIENCE)
