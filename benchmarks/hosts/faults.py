"""Causes a fault while everyone writes. Measures which messages pages lack, and how soon every page is live again."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from statistics import median
from typing import Final, NamedTuple

import asyncpg  # type: ignore[import-untyped]
from benchmarks.hosts.crowd import Crowd, until
from benchmarks.hosts.deployment import Deployment, Machines
from benchmarks.hosts.pages import Page
from benchmarks.hosts.sizes import Size

HOSTS: Final = 3
AGENTS: Final = 3
EVERY_SECONDS: Final = 0.25
BEFORE_SECONDS: Final = 2.0
AFTER_SECONDS: Final = 10.0
SETTLE_SECONDS: Final = 60.0
AHEAD_SECONDS: Final = 300.0
LOSS: Final = 0.1
"""The share of packets that is lost in each direction."""

Break = Callable[[Deployment], AbstractContextManager[None]]


class Fault(NamedTuple):
    """A fault, its duration in seconds, and the time in seconds within which every page must be live again.

    A page is live when it shows a message that was sent through another host. If `across` is False, a message through
    the same host counts as well, because users may leave a broken host and meet at another one.
    """

    breaks: Break
    seconds: float
    live_within: float = 2.0
    across: bool = True


def _cut(deployment: Deployment, other: str) -> AbstractContextManager[None]:
    return deployment.network.cut(deployment.hosts[0].name, other)


@contextmanager
def _replaced(deployment: Deployment) -> Iterator[None]:
    """Replace Redis while one host is cut off from Redis, so that the host does not notice the change."""
    with _cut(deployment, "redis"):
        deployment.redis.kill()
        deployment.redis.start()
        yield


@contextmanager
def _offline(deployment: Deployment) -> Iterator[None]:
    """Cut the users off from every host, so that reconnecting to another host does not help."""
    with ExitStack() as cuts:
        for host in deployment.hosts:
            cuts.enter_context(deployment.network.cut(host.name, "clients"))
        yield


@contextmanager
def _exhausted(deployment: Deployment) -> Iterator[None]:
    """Lock the tables, so that queries wait until each process has used all of its connections."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(deployment.database_url))
        runner.run(connection.execute("BEGIN; LOCK TABLE conversation, message"))
        try:
            yield
        finally:
            runner.run(connection.close())


FAULTS: Final[Mapping[str, Fault]] = {
    "redis-killed": Fault(lambda deployment: deployment.redis.killed(), 10),
    "redis-paused": Fault(lambda deployment: deployment.redis.paused(), 15),
    "postgres-killed": Fault(lambda deployment: deployment.postgres.killed(), 10),
    "process-killed": Fault(lambda deployment: deployment.hosts[0].killed(), 3, 15.0),
    "process-ended": Fault(lambda deployment: deployment.hosts[0].ended(), 3, 15.0),
    "postgres-paused": Fault(lambda deployment: deployment.postgres.paused(), 15),
    "cut-from-redis": Fault(lambda deployment: _cut(deployment, "redis"), 15),
    "long-cut-from-redis": Fault(lambda deployment: _cut(deployment, "redis"), 70),
    "redis-replaced": Fault(_replaced, 20),
    "cut-from-postgres": Fault(lambda deployment: _cut(deployment, "postgres"), 15),
    "cut-from-clients": Fault(lambda deployment: _cut(deployment, "clients"), 15),
    "clients-offline": Fault(_offline, 15, 5.0),
    "process-stopped": Fault(lambda deployment: deployment.hosts[0].stopped(), 20, across=False),
    "disk-full": Fault(lambda deployment: deployment.disk.full(), 10),
    "pool-exhausted": Fault(_exhausted, 10),
    "packet-loss": Fault(lambda deployment: deployment.network.lossy("clients", LOSS), 30),
}


class Outcome(NamedTuple):
    """The result of one run: numbers of messages, and seconds until the last tab and the last panel were live again.

    `lost` counts acknowledged messages that are not stored. `unknown` counts messages that an open page does not show.
    `doubled` counts messages that one page shows twice. `live_tabs` covers only tabs that write nothing. The members of
    these tabs write through another host four times a second.
    """

    acknowledged: int
    lost: int
    unknown: int
    doubled: int
    unacknowledged: int
    live_tabs: float
    live_panels: float


async def measure(machines: Machines, size: Size, name: str) -> dict[str, object]:
    """Cause one fault several times, and return the combined results."""
    fault = FAULTS[name]
    async with machines.deployment(HOSTS, on_small_disk=True) as deployment:
        cookie = await deployment.agents_cookie()
        outcomes = [await once(deployment, cookie, size, fault) for _ in range(size.times)]
    return {
        "times": len(outcomes),
        "acknowledged": sum(outcome.acknowledged for outcome in outcomes),
        "lost": sum(outcome.lost for outcome in outcomes),
        "unknown": sum(outcome.unknown for outcome in outcomes),
        "doubled": sum(outcome.doubled for outcome in outcomes),
        "unacknowledged": sum(outcome.unacknowledged for outcome in outcomes),
        "tabs_live_s": _seconds([outcome.live_tabs for outcome in outcomes]),
        "panels_live_s": _seconds([outcome.live_panels for outcome in outcomes]),
        "live_within_s": fault.live_within,
    }


def _seconds(times: Sequence[float]) -> list[float | None]:
    """Return the median and the maximum. Each is None if it is infinite, because a page never became live."""
    return [round(value, 2) if value < math.inf else None for value in (median(times), max(times))]


async def once(deployment: Deployment, cookie: str, size: Size, fault: Fault) -> Outcome:
    """Cause the fault once while everyone writes, and wait until all messages are shown."""
    async with Crowd(deployment, size.members, AGENTS, cookie) as crowd:
        async with crowd.writing(EVERY_SECONDS):
            await asyncio.sleep(BEFORE_SECONDS)
            async with apart(fault.breaks(deployment)):
                await asyncio.sleep(fault.seconds)
            gone_at = time.monotonic()
            await asyncio.sleep(AFTER_SECONDS)
        await crowd.settled(SETTLE_SECONDS)
        return Outcome(
            crowd.acknowledged(),
            await lost(deployment, crowd),
            crowd.missing(),
            crowd.doubled(),
            crowd.unacknowledged(),
            max(live_after(tab, gone_at, across=fault.across) for tab in crowd.listeners),
            max(live_after(page, gone_at, across=fault.across) for page in crowd.panels),
        )


async def lost(deployment: Deployment, crowd: Crowd) -> int:
    """Return how many acknowledged messages are not stored."""
    connection = await asyncpg.connect(deployment.database_url)
    try:
        stored = {row["message_id"] for row in await connection.fetch("SELECT message_id FROM message")}
    finally:
        await connection.close()
    return sum(len(acked.keys() - stored) for acked in crowd.ledger.acked.values())


async def clock_behind(machines: Machines, size: Size) -> dict[str, object]:
    """Run without Redis while the hosts' clocks differ, then stop writing. Every page must get every message."""
    async with machines.deployment(HOSTS, lab=True) as deployment:
        await deployment.put_ahead(deployment.hosts[0], AHEAD_SECONDS)
        cookie = await deployment.agents_cookie()
        async with Crowd(deployment, size.members, AGENTS, cookie) as crowd:
            async with apart(deployment.redis.killed()):
                async with crowd.writing(EVERY_SECONDS):
                    await asyncio.sleep(AFTER_SECONDS)
                await until(lambda: not any(page.is_waiting for page in crowd.pages), SETTLE_SECONDS)
                unheard = crowd.missing()
            gone_at = time.monotonic()
            await crowd.settled(SETTLE_SECONDS)
            return {
                "clock_s": AHEAD_SECONDS,
                "acknowledged": crowd.acknowledged(),
                "lost": await lost(deployment, crowd),
                "unheard": unheard,
                "unknown": crowd.missing(),
                "doubled": crowd.doubled(),
                "unacknowledged": crowd.unacknowledged(),
                "known_s": round(time.monotonic() - gone_at, 2),
            }


@asynccontextmanager
async def apart(breaking: AbstractContextManager[None]) -> AsyncIterator[None]:
    """Enter and leave a context in a thread, so that the event loop keeps running."""
    await asyncio.to_thread(breaking.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(breaking.__exit__, None, None, None)


def live_after(page: Page, gone_at: float, *, across: bool = True) -> float:
    """Return the seconds from `gone_at` until a page showed a message that was sent after `gone_at`.

    With `across`, only messages through another host count.
    """
    sent = page.ledger.sent
    shown = [
        at
        for message_id, at in page.shown_at.items()
        if sent[message_id][0] > gone_at and (not across or sent[message_id][1] != page.host)
    ]
    return min(shown, default=math.inf) - gone_at
