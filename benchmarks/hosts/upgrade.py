"""Measures how long acknowledgements take while migrations run on a database of a million messages.

Members write through a server of this release while the next release migrates the database. Then an index is built in a
way that migrations must not use, to show the effect on the figures. Finally a server of the next release joins.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import ChainMap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import median
from typing import Any, Final, NamedTuple

import asyncpg  # type: ignore[import-untyped]
from benchmarks.hosts.crowd import Crowd, until
from benchmarks.hosts.deployment import Deployment, Host, Machines
from benchmarks.hosts.network import at
from benchmarks.hosts.sizes import Size
from benchmarks.hosts.volume import filled
from benchmarks.next_release.release import next_release

CONVERSATION: Final = 45
"""Number of messages in every conversation except the long one."""
EVERY_SECONDS: Final = 0.1
SETTLE_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.005
MIGRATE: Final = "from chatkey_server.commands.db import db; db(['migrate'])"
SLOW_INDEX: Final = "CREATE INDEX slow ON message (sender, sent_at)"
WAITING: Final = """
    SELECT extract(epoch FROM max(clock_timestamp() - waitstart))::float FROM pg_locks
    WHERE NOT granted AND mode = 'RowExclusiveLock' AND relation IN ('message'::regclass, 'conversation'::regclass)
"""
"""The longest time that a writer has been waiting for a table lock so far."""


class Phase(NamedTuple):
    """One phase of the upgrade: the times until acknowledgements, and the longest wait for a table lock."""

    seconds: float
    waits: list[float]
    lock: float

    def figures(self, name: str) -> dict[str, object]:
        """Return the figures, with waits in milliseconds."""
        return {
            f"{name}_s": round(self.seconds, 1),
            f"{name}_acknowledged": len(self.waits),
            f"{name}_median_ms": round(median(self.waits) * 1e3, 1),
            f"{name}_longest_ms": round(max(self.waits) * 1e3),
            f"{name}_longest_lock_ms": round(self.lock * 1e3),
        }


async def measure(machines: Machines, size: Size) -> dict[str, object]:
    """Upgrade a large database while members write to it."""
    async with machines.deployment(1) as deployment, _watched(deployment) as database:
        url = deployment.database_url
        await filled(url, size.messages, CONVERSATION)
        older, newer = deployment.hosts[0], _newer(machines, deployment.hosts[0])
        figures: dict[str, object] = {"messages": size.messages}
        async with Crowd(deployment, size.members, 0, "", tabs=1) as crowd, crowd.writing(EVERY_SECONDS):
            for name, doing in (
                ("before", lambda: asyncio.sleep(size.seconds)),
                ("migration", lambda: _migrated(newer)),
                ("slow_index", lambda: _executed(url, SLOW_INDEX)),
            ):
                figures |= (await _phase(crowd, database, doing)).figures(name)
        await asyncio.to_thread(_start, newer)
        try:
            both = Deployment(machines, [older, newer], url)
            figures |= await _side_by_side(both, size)
        finally:
            await asyncio.to_thread(newer.end)
    return figures


async def _phase(crowd: Crowd, database: Any, doing: Callable[[], Awaitable[None]]) -> Phase:
    """Run `doing` while members write, then wait until all messages that were sent meanwhile are acknowledged."""
    began = time.monotonic()
    watching = asyncio.create_task(_longest_lock(database))
    await doing()
    ended = time.monotonic()
    mine = {name: at for name, (at, _) in crowd.ledger.sent.items() if began <= at <= ended}
    shown = ChainMap(*(tab.shown_at for tab in crowd.tabs))
    if not await until(lambda: all(name in shown for name in mine), SETTLE_SECONDS):
        raise TimeoutError(f"messages were not acknowledged within {SETTLE_SECONDS:g} s")
    watching.cancel()
    lock = await watching
    return Phase(ended - began, [shown[name] - at for name, at in mine.items()], lock)


async def _longest_lock(database: Any) -> float:
    """Poll how long writers wait for a lock. Return the longest wait when cancelled."""
    longest = 0.0
    try:
        while True:
            longest = max(longest, await database.fetchval(WAITING) or 0.0)
            await asyncio.sleep(LOOK_SECONDS)
    except asyncio.CancelledError:
        return longest


async def _side_by_side(deployment: Deployment, size: Size) -> dict[str, object]:
    """Let members write through both releases. Each member has a tab on each of the two servers."""
    async with Crowd(deployment, size.members, 0, "") as crowd:
        async with crowd.writing(EVERY_SECONDS):
            await asyncio.sleep(size.seconds)
        await crowd.settled(SETTLE_SECONDS)
        return {
            "both_acknowledged": crowd.acknowledged(),
            "both_missing": crowd.missing(),
            "both_doubled": crowd.doubled(),
            "both_unacknowledged": crowd.unacknowledged(),
        }


@asynccontextmanager
async def _watched(deployment: Deployment) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(deployment.hosts[0].environ["CHATKEY_DATABASE_URL"])
    try:
        yield connection
    finally:
        await connection.close()


def _newer(machines: Machines, older: Host) -> Host:
    """Return a host with a server of the next release. The server is not started yet."""
    name, folder = "host2", machines.folder / "next"
    environ = {**older.environ, **next_release(folder), "CHATKEY_DATA_DIR": str(machines.folder / name)}
    return Host(name, machines.network.address(name), environ, machines.folder / f"{name}.log")


def _start(host: Host) -> None:
    host.begin()
    host.wait()


async def _migrated(host: Host) -> None:
    migrating = await asyncio.create_subprocess_exec(
        *at(host.name, sys.executable, "-c", MIGRATE), env={**host.environ}
    )
    if await migrating.wait():
        raise RuntimeError(f"chatkey db migrate failed with exit status {migrating.returncode}")


async def _executed(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
