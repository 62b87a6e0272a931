"""The kinds of change that a migration can make while servers of the previous release keep writing.

On SQLite a migration is one transaction. On PostgreSQL each kind works differently, but no kind makes a writer wait for
more than a second.
"""

# ruff: noqa: SLF001 - Piccolo keeps a table's description in `_meta`

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from asyncpg import PostgresError  # type: ignore[import-untyped]
from asyncpg import exceptions as pg
from piccolo.table import sort_table_classes

if TYPE_CHECKING:
    from piccolo.columns import Column
    from piccolo.table import Table

    from chatkey_server.storage.engine import Database

LOCK_TIMEOUT: Final = "200ms"
"""How long a statement waits for a lock. Meanwhile, writers queue behind it."""
STATEMENT_TIMEOUT: Final = "800ms"
"""How long a definition may take in total. It locks its table, and writers wait until it is done."""
SESSION: Final = "SET lock_timeout = '10min'; SET statement_timeout = 0"
"""How long building an index waits for older transactions, such as a backup. No writer queues behind it."""
ATTEMPTS: Final = 60
PAUSE_SECONDS: Final = 2.0
BATCH: Final = 500

CONTENTION: Final = (pg.LockNotAvailableError, pg.DeadlockDetectedError)
OLD_TRANSACTIONS: Final = """
    SELECT pid, coalesce(nullif(application_name, ''), backend_type) AS name,
        extract(epoch FROM now() - xact_start)::int AS seconds
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < now() - interval '1 second'
    ORDER BY xact_start LIMIT 3
"""

Report = Callable[[str], None]


class Contended(Exception):
    """Other sessions held a lock during every attempt. The message names the open transactions."""


@dataclass(frozen=True)
class Definitions:
    """New tables, columns, views, functions and triggers, created in one transaction.

    All new columns belong to one table, because each table stays locked until the transaction ends. `statements`
    contains the SQL for each kind of database. If the statements drop something, `unused_since` names the release that
    stopped using it.
    """

    tables: Sequence[type[Table]] = ()
    columns: Sequence[Column] = ()
    statements: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unused_since: str = ""

    def sql(self, database: Database) -> list[str]:
        for table in (*self.tables, *(column._meta.table for column in self.columns)):
            table._meta.db = database
        created = [statement for table in sort_table_classes([*self.tables]) for statement in table.create_table().ddl]
        added = [
            statement
            for column in self.columns
            for statement in column._meta.table.alter().add_column(column._meta.name, column).ddl
        ]
        return [*created, *added, *self.statements.get(database.engine_type, ())]


@dataclass(frozen=True)
class Index:
    """An index on a table that already has rows. `on` is the text after ON, such as `message (sender, sent_at)`."""

    name: str
    on: str
    is_unique: bool = False

    def sql(self, database: Database) -> list[str]:
        concurrently = "CONCURRENTLY IF NOT EXISTS " if database.engine_type == "postgres" else ""
        return [f"CREATE {'UNIQUE ' if self.is_unique else ''}INDEX {concurrently}{self.name} ON {self.on}"]


@dataclass(frozen=True)
class Backfill:
    """New values in existing rows: `UPDATE table SET values WHERE where`, in batches ordered by the column `id`.

    The update must be repeatable: `where` must not match rows that already have the new value.
    """

    table: str
    values: str
    where: str

    def sql(self, _: Database) -> list[str]:
        return [f"UPDATE {self.table} SET {self.values} WHERE {self.where}"]  # noqa: S608 - a migration's own words


Change = Definitions | Index | Backfill


class Changes:
    """Makes changes on a PostgreSQL connection that was set up with `SESSION`. Interrupted changes can be repeated."""

    def __init__(self, connection: Any, report: Report) -> None:
        self._connection = connection
        self._report = report

    async def run(self, statements: Sequence[str]) -> None:
        """Run definitions in one transaction. Try again if the required locks are not available."""
        await self._patiently(partial(self._define, statements), (*CONTENTION, pg.QueryCanceledError))

    async def build(self, index: Index, statements: Sequence[str]) -> None:
        """Build an index while other sessions write. A half-built index is dropped and built again."""
        await self._patiently(partial(self._build, index.name, statements))

    async def fill(self, backfill: Backfill) -> None:
        """Update all rows in batches, each batch in a separate transaction."""
        after: object = None
        while True:
            upto = await self._end_of_batch(backfill.table, after)
            await self._patiently(partial(self._fill, backfill, after, upto))
            if upto is None:
                return
            after = upto

    async def _define(self, statements: Sequence[str]) -> None:
        async with self._connection.transaction():
            await self._connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            await self._connection.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
            for statement in statements:
                await self._connection.execute(statement)

    async def _build(self, name: str, statements: Sequence[str]) -> None:
        await self._drop_invalid(name)
        try:
            for statement in statements:
                await self._connection.execute(statement)
        except PostgresError:
            if not self._connection.is_closed():
                await self._drop_invalid(name)  # a half-built unique index already refuses rows
            raise

    async def _drop_invalid(self, name: str) -> None:
        invalid = "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid"
        if await self._connection.fetchval(invalid, name):
            self._report(f"dropping the half-built index {name}")
            await self._connection.execute(f"DROP INDEX CONCURRENTLY {name}")

    async def _end_of_batch(self, table: str, after: object) -> object:
        """Return the last id of the next batch, or None if the next batch is the last one."""
        beyond, values = ("", ()) if after is None else ("WHERE id > $1", (after,))
        query = f"SELECT id FROM {table} {beyond} ORDER BY id OFFSET {BATCH - 1} LIMIT 1"  # noqa: S608 - our own words
        return await self._connection.fetchval(query, *values)

    async def _fill(self, backfill: Backfill, after: object, upto: object) -> None:
        bounds = [(sign, value) for sign, value in ((">", after), ("<=", upto)) if value is not None]
        within = "".join(f" AND id {sign} ${place}" for place, (sign, _) in enumerate(bounds, 1))
        async with self._connection.transaction():
            await self._connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            await self._connection.execute(
                f"UPDATE {backfill.table} SET {backfill.values} WHERE ({backfill.where}){within}",  # noqa: S608
                *(value for _, value in bounds),
            )

    async def _patiently(
        self, attempt: Callable[[], Awaitable[None]], contention: tuple[type[PostgresError], ...] = CONTENTION
    ) -> None:
        waiting = ""
        for number in range(1, ATTEMPTS + 1):
            try:
                return await attempt()
            except contention as error:
                waiting = f"{error}; {await self._in_the_way()}"
            self._report(f"attempt {number} of {ATTEMPTS}: {waiting}")
            await asyncio.sleep(PAUSE_SECONDS)
        raise Contended(f"gave up after {ATTEMPTS} attempts ({waiting})")

    async def _in_the_way(self) -> str:
        """Name the transactions that have been open longest. One of them probably holds the lock."""
        rows: list[Any] = await self._connection.fetch(OLD_TRANSACTIONS)
        named = [f"pid {row['pid']} ({row['name']}) for {row['seconds']} s" for row in rows]
        return f"open transactions: {', '.join(named) or 'none longer than a second'}"
