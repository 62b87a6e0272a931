"""Tests of migrations on a database in use: brief waits, interruptions, and writes by other sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg  # type: ignore[import-untyped]
import pytest
from piccolo.columns import Varchar
from piccolo.table import Table

from chatkey_server.identity.errors import Refused
from chatkey_server.settings import SettingsError
from chatkey_server.storage import engine, migrate, schema_changes, tables
from chatkey_server.storage.schema_changes import Backfill, Change, Definitions, Index
from chatkey_stack.patience import PATIENCE

CONVERSATION: Final = UUID(int=1)
NEVER: Final = 1_000_000
INVALID: Final = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('message_language')"
BUILDING: Final = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'CREATE % CONCURRENTLY%' AND wait_event_type = 'Lock'
"""
"""Finds the session that builds an index, once it waits for older transactions to end."""


class Message(Table, tablename="message"):
    language = Varchar(length=8, null=True, default=None)


COLUMN: Final = Definitions(columns=[Message.language])
INDEX: Final = Index("message_language", "message (language, sent_at)")
FILLED: Final = Backfill("message", "language = 'en'", where="language IS NULL")

ON_POSTGRES: Final = pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
"""Marks tests that SQLite does not need, because there a migration is one transaction."""

Apply = Callable[..., "asyncio.Task[list[str]]"]


class Lines(asyncio.Queue[str]):
    async def until(self, text: str) -> str:
        """Wait for the next line that contains this text, and return the line."""
        async with asyncio.timeout(PATIENCE):
            while text not in (line := await self.get()):
                pass
        return line


@pytest.fixture
def lines() -> Lines:
    """The lines that `apply` reports."""
    return Lines()


@pytest.fixture
def apply(monkeypatch: pytest.MonkeyPatch, lines: Lines) -> Apply:
    """Run the changes in a background task, as if they were migrations of the next release."""
    released = migrate.steps()

    def begin(*changes: Change) -> asyncio.Task[list[str]]:
        new = [SimpleNamespace(ID=f"2100-0{number}", CHANGE=change) for number, change in enumerate(changes, 1)]
        monkeypatch.setattr(migrate, "steps", lambda: [*released, *new])
        return asyncio.create_task(migrate.migrate(lines.put_nowait))

    monkeypatch.setattr(schema_changes, "PAUSE_SECONDS", 0.01)
    return begin


@pytest.fixture
async def filled(empty_database: engine.Database) -> engine.Database:
    """A migrated database with ten messages in one conversation."""
    await migrate.migrate()
    await tables.Conversation(id=CONVERSATION, provider="p", login="custom", uid="u", last_at=0).save()
    for seq in range(1, 11):
        await tables.Message.insert(_message(seq))
    return empty_database


def _message(seq: int) -> tables.Message:
    return tables.Message(
        conversation=CONVERSATION, seq=seq, message_id=f"m{seq}", sender="customer", body="b", folded="b", sent_at=0
    )


@asynccontextmanager
async def other_session(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url, server_settings={"application_name": "somebody else"})
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[None]:
    """Hold a transaction open that has read messages, as a backup does."""
    async with other_session(url) as connection, connection.transaction(isolation="repeatable_read"):
        await connection.fetchval("SELECT count(*) FROM message")
        yield


async def written(seq: int) -> None:
    async with engine.transaction():
        await tables.Message.insert(_message(seq))


async def built_so_far(session: Any) -> int:
    """Wait until the index is nearly built. Returns the id of the process that waits for older transactions."""
    async with asyncio.timeout(PATIENCE):
        while (pid := await session.fetchval(BUILDING)) is None:  # noqa: ASYNC110 - PostgreSQL tells nobody
            await asyncio.sleep(0)
    return int(pid)


@pytest.mark.contract("D-15/both-databases")
async def test_each_kind_of_change_is_made_on_both_databases(filled: engine.Database, apply: Apply) -> None:
    assert len(await apply(COLUMN, FILLED, INDEX)) == 3

    found = await tables.Message.raw("SELECT DISTINCT language FROM message")
    assert [dict(row) for row in found] == [{"language": "en"}]
    assert await migrate.migrate() == []


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_a_definition_that_waits_for_a_lock_retries_without_blocking_writers(
    empty_url: str, apply: Apply, lines: Lines
) -> None:
    async with reading(empty_url):
        migrating = apply(COLUMN)
        told = await lines.until("attempt 2 of")
        await written(11)
        assert not migrating.done()

    assert await migrating == ["2100-01"]
    assert told.startswith("2100-01: attempt 2 of 60: canceling statement due to lock timeout; open transactions: ")


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_a_definition_gives_up_at_last_and_names_the_blocking_session(
    empty_url: str, apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_changes, "ATTEMPTS", 10)
    async with reading(empty_url):
        with pytest.raises(SettingsError, match=r"2100-01 gave up .* pid \d+ \(somebody else\) for \d+ s\); end those"):
            await apply(COLUMN)

    assert await migrate.pending() == ["2100-01"]
    assert await apply(COLUMN) == ["2100-01"]


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_a_definition_that_takes_long_is_stopped_and_changes_nothing(
    apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_changes, "ATTEMPTS", 1)
    slow = Definitions(statements={"postgres": ["CREATE TABLE half (n int)", f"SELECT pg_sleep({NEVER})"]})

    with pytest.raises(SettingsError, match="canceling statement due to statement timeout"):
        await apply(slow)

    assert not await tables.Message.raw("SELECT 1 FROM pg_class WHERE relname = 'half'")


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_writers_write_while_an_index_is_built(empty_url: str, apply: Apply) -> None:
    await apply(COLUMN)
    async with other_session(empty_url) as watching:
        async with reading(empty_url):
            building = apply(COLUMN, INDEX)
            await built_so_far(watching)
            await written(11)
            assert not building.done()

        assert await building == ["2100-02"]
        assert await watching.fetchval(INVALID) is True


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_an_unfinished_index_is_dropped_and_built_again(empty_url: str, apply: Apply, lines: Lines) -> None:
    await apply(COLUMN)
    async with other_session(empty_url) as watching:
        async with reading(empty_url):
            building = apply(COLUMN, INDEX)
            await watching.execute("SELECT pg_terminate_backend($1)", await built_so_far(watching))
            with pytest.raises(Refused):
                await building
        assert await watching.fetchval(INVALID) is False

        assert await apply(COLUMN, INDEX) == ["2100-02"]

        assert await watching.fetchval(INVALID) is True
    assert await lines.until("dropping the half-built index message_language")


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_an_index_that_cannot_be_built_is_not_left_behind(empty_url: str, apply: Apply) -> None:
    """An unfinished unique index would already refuse messages."""
    with pytest.raises(SettingsError, match=r"2100-01 failed \(could not create unique index"):
        await apply(Index("message_language", "message (body)", is_unique=True))

    await written(11)
    async with other_session(empty_url) as watching:
        assert await watching.fetchval(INVALID) is None


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_two_migrations_at_the_same_time_do_not_deadlock(apply: Apply, lines: Lines, empty_url: str) -> None:
    await apply(COLUMN)
    async with reading(empty_url):
        building = apply(COLUMN, INDEX)
        async with other_session(empty_url) as watching:
            await built_so_far(watching)
        waiting = apply(COLUMN, INDEX)
        await lines.until("waiting: another process is migrating this database")

    assert [await building, await waiting] == [["2100-02"], []]


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_rows_are_filled_in_batches_with_a_transaction_each(
    empty_url: str, apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_changes, "BATCH", 3)

    await apply(COLUMN, FILLED)

    async with other_session(empty_url) as watching:
        found = await watching.fetch("SELECT count(*) FROM message WHERE language = 'en' GROUP BY xmin::text")
    assert sorted(row["count"] for row in found) == [1, 3, 3, 3]


@ON_POSTGRES
@pytest.mark.usefixtures("filled")
async def test_a_batch_waits_for_a_row_without_holding_others(
    empty_url: str, apply: Apply, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    await apply(COLUMN)
    async with other_session(empty_url) as writing, other_session(empty_url) as another:
        async with writing.transaction():
            await writing.execute("UPDATE message SET name = 'n' WHERE seq = 5")
            filling = apply(COLUMN, FILLED)
            await lines.until("attempt 2 of 60: canceling statement due to lock timeout")
            await another.execute("UPDATE message SET name = 'n' WHERE seq <> 5")

        assert await filling == ["2100-02"]
        assert await another.fetchval("SELECT count(*) FROM message WHERE language = 'en' AND name = 'n'") == 10


async def test_a_user_who_may_not_create_tables_is_told_so(empty_postgres_url: str) -> None:
    role = f"reader_{uuid4().hex}"
    async with other_session(empty_postgres_url) as admin:
        await admin.execute(f"CREATE ROLE {role}")
        try:
            async with engine.opened(empty_postgres_url) as database:
                assert isinstance(database, engine.Postgres)
                database.config["server_settings"]["role"] = role
                await database.close()
                await database.open()
                with pytest.raises(SettingsError, match=r"may not run migration .*permission denied .* the owner"):
                    await migrate.migrate()
        finally:
            await admin.execute(f"DROP ROLE {role}")
