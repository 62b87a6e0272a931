"""Tests of an upgrade with two releases on one PostgreSQL. The older release must be able to write at all times."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped]
import pytest
from benchmarks.hosts.deployment import NO_LIMITS
from benchmarks.hosts.volume import filled

from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

Fixture = Any

MESSAGES: Final = 5000
BUILDING: Final = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'
"""
"""Whether an index is almost built and only waits for older transactions to end."""
WRITERS_WAITING: Final = """
    SELECT count(*) FROM pg_locks
    WHERE NOT granted AND mode = 'RowExclusiveLock' AND relation IN ('message'::regclass, 'conversation'::regclass)
"""


@pytest.fixture
async def store(postgres_settings: dict[str, str]) -> dict[str, str]:
    """The settings for a PostgreSQL database that contains some thousand messages."""
    await filled(postgres_settings["DATABASE_URL"], MESSAGES, 5)
    return postgres_settings


@pytest.fixture
def settings(store: dict[str, str], redis: Fixture) -> dict[str, str]:
    no_limits = {name.removeprefix("CHATKEY_"): value for name, value in NO_LIMITS.items()}
    return {**store, **no_limits, "REDIS_URL": redis.url}


@pytest.fixture
def older(make_server: Fixture, settings: dict[str, str]) -> Iterator[Fixture]:
    """A server of this release that is not started yet."""
    with make_server(**settings) as made:
        yield made


@pytest.fixture
def newer(make_server: Fixture, settings: dict[str, str], next_starter: Fixture, tmp_path: Path) -> Iterator[Fixture]:
    """A server of the next release, on the same database and not started yet."""
    folder = tmp_path / "newer"
    folder.mkdir()
    with make_server(folder, next_starter, **settings) as made:
        yield made


@pytest.fixture
async def database(store: dict[str, str]) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(store["DATABASE_URL"])
    yield connection
    await connection.close()


@asynccontextmanager
async def backup(store: dict[str, str]) -> AsyncIterator[None]:
    """Hold a transaction open, as a backup does. The transaction sees one snapshot and locks no table."""
    connection = await asyncpg.connect(store["DATABASE_URL"])
    try:
        async with connection.transaction(isolation="repeatable_read"):
            await connection.fetchval("SELECT 1")
            yield
    finally:
        await connection.close()


async def until(database: Any, query: str) -> None:
    """Run a query repeatedly until its result is true."""
    async with asyncio.timeout(4 * PATIENCE):
        while not await database.fetchval(query):  # noqa: ASYNC110 - PostgreSQL tells nobody
            await asyncio.sleep(0.01)


async def message(socket: Any, body: str) -> None:
    """Wait for a message. A socket that has not read its history may get other recent messages first."""
    while (await socket.next())["body"] != body:
        pass


@pytest.mark.contract("D-15/migrations")
async def test_an_older_server_writes_while_a_newer_one_migrates_and_after(
    older: Fixture, newer: Fixture, store: dict[str, str], database: Any
) -> None:
    shop = older.open_shop()
    older.start()
    ada, elsewhere = shop.person("ada"), type(shop)(newer, shop.id, shop.secret).person("ada")
    busy = shop.person("busy")
    acked: list[None] = []
    writing = asyncio.create_task(busy.tab("tab").write(lambda: acked.append(None)))
    async with ada.socket() as here:
        async with backup(store):
            migrating = asyncio.create_task(asyncio.to_thread(newer.run, "db", "migrate"))
            await until(database, BUILDING)
            before = len(acked)
            answer = await ada.post(here, "while an index is built")
            history = await ada.check(here)
            assert (answer["type"], len(history), migrating.done()) == ("ack", 1, False)
            assert await database.fetchval(WRITERS_WAITING) == 0
        printed = await migrating
        await asyncio.to_thread(newer.start)
        async with elsewhere.socket() as there:
            await ada.post(here, "by the older server")
            await message(there, "by the older server")
            await there.ask({"type": "message", "id": "newer", "body": "by the newer server"})
            await message(here, "by the newer server")
        assert not writing.done()
    assert older.end() == 0
    await writing

    assert printed.count("ran 2100-") == 4
    assert len(acked) > before
    assert await database.fetchval("SELECT count(*) FROM conversation WHERE first_at IS NULL AND last_seq > 5") == 0
    assert await database.fetchval("SELECT indisvalid FROM pg_index WHERE indexrelid = 'message_by_language'::regclass")
    async with elsewhere.socket() as there:
        bodies = [message["body"] for message in await elsewhere.history(there)]
    assert bodies == ["while an index is built", "by the older server", "by the newer server"]


@pytest.mark.contract("D-15/migrations")
async def test_a_migration_that_breaks_the_rule_makes_the_older_server_wait_which_the_watch_sees(
    older: Fixture, store: dict[str, str], database: Any
) -> None:
    shop = older.open_shop()
    older.start()
    ada = shop.person("ada")
    breaking = await asyncpg.connect(store["DATABASE_URL"])
    async with ada.socket() as here:
        await ada.post(here, "before")
        async with breaking.transaction():
            await breaking.execute("CREATE INDEX plain ON message (sender, sent_at)")
            writing = asyncio.create_task(ada.post(here, "meanwhile"))
            await until(database, WRITERS_WAITING)
            assert not writing.done()
        assert (await writing)["type"] == "ack"
    await breaking.close()
    assert older.end() == 0
