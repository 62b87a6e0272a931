"""Tests of the ring buffer behind the lab's event feed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from chatkey_server.lab.feed import MOST_EVENTS, Feed
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from chatkey_server.clock import Clock


@pytest.fixture
def feed(clock: Clock) -> Feed:
    return Feed(clock)


def test_it_keeps_the_newest_and_goes_on_counting(feed: Feed) -> None:
    for number in range(MOST_EVENTS + 5):
        feed.record({"event": "x", "number": number})

    events = feed.after(0)

    assert len(events) == MOST_EVENTS
    assert (events[0].n, events[-1].n) == (6, MOST_EVENTS + 5) == (6, feed.last)


async def test_a_reader_waits_until_an_event_of_its_kind_is_recorded(feed: Feed) -> None:
    reader = asyncio.create_task(feed.wait(0, "socket.ready", 2 * PATIENCE))
    await asyncio.sleep(0)
    feed.record({"event": "socket.closed"})
    for _ in range(3):
        await asyncio.sleep(0)
    was_done = reader.done()

    feed.record({"event": "socket.ready", "uid": "v_a"})

    assert not was_done
    [event] = await asyncio.wait_for(reader, PATIENCE)
    assert (event.n, event.kind, event.facts) == (2, "socket.ready", {"uid": "v_a"})


async def test_an_event_from_another_thread_wakes_a_reader(feed: Feed) -> None:
    reader = asyncio.create_task(feed.wait(0, None, 2 * PATIENCE))
    await asyncio.sleep(0)

    await asyncio.to_thread(feed.record, {"event": "x"})

    assert len(await asyncio.wait_for(reader, PATIENCE)) == 1


async def test_a_reader_that_leaves_is_forgotten(feed: Feed) -> None:
    reader = asyncio.create_task(feed.wait(0, None, 2 * PATIENCE))
    await asyncio.sleep(0)

    reader.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reader
    assert not feed._waiting


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), 0.001])
async def test_a_wait_without_time_ends_at_once(feed: Feed, seconds: float) -> None:
    assert await asyncio.wait_for(feed.wait(0, None, seconds), PATIENCE) == []
