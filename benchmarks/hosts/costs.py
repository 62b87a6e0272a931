"""Measures the cost of a message: latency, processor time, and disk space in the database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import median, quantiles
from typing import Final

import asyncpg  # type: ignore[import-untyped]
from benchmarks.hosts.crowd import Crowd
from benchmarks.hosts.deployment import Deployment, Machines
from benchmarks.hosts.pages import Tab
from benchmarks.hosts.sizes import Size

MOST_HOSTS: Final = 4
EVERY_SECONDS: Final = 0.25
SETTLE_SECONDS: Final = 30.0
WARM_SECONDS: Final = 2.0
ROUNDS: Final = 3
OVERLOAD_SECONDS: Final = 0.02
"""Interval between two messages of a member, short enough to overload one process."""


async def latency(machines: Machines, size: Size) -> dict[str, object]:
    """Compare the latency of messages to a tab on another host with the latency to a tab on the same host."""
    async with machines.deployment(2) as deployment:
        cookie = await deployment.agents_cookie()
        # the third tab is on the host of the first tab
        async with Crowd(deployment, size.members, 1, cookie, tabs=3) as crowd:
            async with crowd.writing(EVERY_SECONDS):
                await asyncio.sleep(size.seconds)
            await crowd.settled(SETTLE_SECONDS)
            same = _percentile(crowd.tabs[2::3])
            across = _percentile(crowd.tabs[1::3])
    return {
        "p99_ratio": round(across / same, 2),
        "same_p99_ms": round(same * 1e3),
        "across_p99_ms": round(across * 1e3),
    }


def _percentile(tabs: Sequence[Tab]) -> float:
    waits = [at - tab.ledger.sent[message_id][0] for tab in tabs for message_id, at in tab.shown_at.items()]
    return quantiles(waits, n=100)[98]


async def processor(machines: Machines, size: Size) -> dict[str, object]:
    """Compare the processor time per delivered message on four hosts and on one host, with the same load on each host.

    A message counts as delivered once for each page that shows the message, including the author's page. The two setups
    alternate. The cost of idle processes is not subtracted.
    """
    costs: dict[int, list[float]] = {1: [], MOST_HOSTS: []}
    for _ in range(min(size.times, ROUNDS)):
        for hosts, found in costs.items():
            async with machines.deployment(hosts) as deployment:
                found.append(await _cost(deployment, size))
    one, many = (median(found) for found in costs.values())
    return {"ratio": round(many / one, 2), "one_host_us": round(one * 1e6), "four_hosts_us": round(many * 1e6)}


async def _cost(deployment: Deployment, size: Size) -> float:
    hosts = deployment.hosts
    cookie = await deployment.agents_cookie()
    members = max(2, size.members // 2) * len(hosts)
    async with Crowd(deployment, members, 1, cookie) as crowd, crowd.writing(EVERY_SECONDS):
        await asyncio.sleep(WARM_SECONDS)
        before = sum(host.processor_seconds() for host in hosts), _shown(crowd)
        await asyncio.sleep(size.seconds)
        spent = sum(host.processor_seconds() for host in hosts) - before[0]
        delivered = _shown(crowd) - before[1]
    return spent / delivered


def _shown(crowd: Crowd) -> int:
    return sum(len(page.shown_at) for page in crowd.pages)


async def message(machines: Machines, size: Size) -> dict[str, object]:
    """Report the messages per second of one busy process, and the processor time and disk space of one message."""
    async with machines.deployment(1) as deployment:
        (host,) = deployment.hosts
        cookie = await deployment.agents_cookie()
        stored = await _database_bytes(deployment)
        async with Crowd(deployment, size.members, 0, cookie, tabs=1) as crowd, crowd.writing(OVERLOAD_SECONDS):
            await asyncio.sleep(WARM_SECONDS)
            before = host.processor_seconds(), crowd.acknowledged()
            await asyncio.sleep(size.seconds)
            spent, acknowledged = host.processor_seconds() - before[0], crowd.acknowledged() - before[1]
        stored = await _database_bytes(deployment) - stored
        total = crowd.acknowledged()
    return {
        "per_second": round(acknowledged / size.seconds),
        "processor_share": round(spent / size.seconds, 2),
        "processor_ms_each": round(spent / acknowledged * 1e3, 2),
        "database_bytes_each": round(stored / total),
    }


async def _database_bytes(deployment: Deployment) -> int:
    connection = await asyncpg.connect(deployment.database_url)
    try:
        await connection.execute("CHECKPOINT")
        return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
    finally:
        await connection.close()
