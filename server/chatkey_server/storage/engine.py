"""The database of this process: opened once, bound to every table, with transactions that always let go of it."""

# ruff: noqa: SLF001 - Piccolo keeps a table's description in `_meta`
from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, cast

import structlog
from asyncpg import exceptions as pg  # type: ignore[import-untyped]
from piccolo.apps.migrations.tables import Migration
from piccolo.engine.postgres import PostgresEngine
from piccolo.engine.sqlite import SQLiteEngine
from piccolo.table import Table

from chatkey_server.metrics import DATABASE_WAIT
from chatkey_server.settings import SettingsError
from chatkey_server.storage.availability import Busy, Doing, Outages, available
from chatkey_server.storage.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aiosqlite
    from asyncpg import Pool

log = structlog.get_logger("chatkey.database")

BUSY_SECONDS = 5
"""How long a write to SQLite waits for another process, and a query for a connection to PostgreSQL."""
CLOSING_SECONDS = 1
"""How long connections that are still in use are waited for when the process ends."""
WHOLE_SECONDS = 15
"""How long a transaction may take in all: a database that has fallen silent must not hold people for ever."""
POOL_SIZE = 10
SQLITE = "sqlite:///"
UNCACHED = "statement_cache_size=0"
"""In the address of a PostgreSQL database: prepare no statements. A pooler by transaction, as pgbouncer, needs this."""

NOT_OPENED = "no database was opened: use `async with opened(url)` first"

Writability = Literal["ok", "read-only", "standby"]
"""Whether a database takes writes: a standby is a PostgreSQL that has not been promoted."""


class SQLiteConnection(sqlite3.Connection):
    """A connection that lets the operating system decide when to reach the disk.

    In WAL mode what was committed survives the death of the process; a power cut may lose the last commits, never
    the database.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute("PRAGMA synchronous = NORMAL")


class SQLite(SQLiteEngine):
    """An SQLite file. Piccolo opens a connection per query; writers of this process queue on `writing`."""

    def __init__(self, path: str) -> None:
        self.file = Path(path).absolute()
        # mode=rw: were the file to vanish, SQLite would otherwise go on with an empty one
        super().__init__(f"{self.file.as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, factory=SQLiteConnection)
        self.writing = asyncio.Lock()
        self.outages = Outages()

    async def open(self) -> None:
        """Make the file if need be, switch it to WAL, and keep a connection to it.

        Without one, every query's connection would be the last to close, and the last one folds the WAL back into the
        file: a write then took ten times as long.
        """
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_private(self.file)
        kept = sqlite3.connect(self.file, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            kept.execute("PRAGMA journal_mode = WAL").close()
            kept.execute("SELECT 1 FROM sqlite_schema").close()
        except sqlite3.Error:
            kept.close()
            raise
        self._kept = kept

    async def close(self) -> None:
        """Close the connection that is kept, so that the file may be moved or removed."""
        self._kept.close()

    async def writability(self) -> Writability:
        """Return whether the file may be written."""
        return "ok" if os.access(self.file, os.W_OK) else "read-only"

    @asynccontextmanager
    async def connection(self, *, write: bool) -> AsyncIterator[aiosqlite.Connection]:
        """Hold a connection with a transaction on it."""
        if not write:
            async with self._begun("BEGIN") as connection:
                yield connection
            return
        try:
            await asyncio.wait_for(self.writing.acquire(), BUSY_SECONDS)
        except TimeoutError as error:
            raise Busy(f"others have been writing for {BUSY_SECONDS} s") from error
        try:
            async with self._begun("BEGIN IMMEDIATE") as connection:
                yield connection
        finally:
            self.writing.release()

    @asynccontextmanager
    async def _begun(self, begin: str) -> AsyncIterator[aiosqlite.Connection]:
        connection = await self.get_connection()
        try:
            await connection.execute(begin)
            try:
                yield connection
            except BaseException:
                with suppress(sqlite3.Error):  # what went wrong first is what matters
                    await connection.interrupt()  # what nobody waits for any more
                    await connection.execute("ROLLBACK")
                raise
            await connection.execute("COMMIT")
        finally:
            await connection.close()


def _make_private(file: Path) -> None:
    """Make a database file that only its owner can read; its WAL becomes like it. One that is there stays as it is."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if file.stat().st_mode & 0o077:
            log.warning("database.exposed", file=str(file), remedy=f"chmod 600 {file}")


class Postgres(PostgresEngine):
    """A PostgreSQL database, through a pool."""

    def __init__(self, url: str) -> None:
        self.outages = Outages()
        # asyncpg takes it as an argument only, and would send it to the server if it stood in the address
        prepared = {"statement_cache_size": 0} if UNCACHED in url else {}
        dsn = url.replace(UNCACHED, "")
        server_settings = {"application_name": "chatkey"}
        super().__init__({"dsn": dsn, "timeout": BUSY_SECONDS, "server_settings": server_settings, **prepared})

    async def check_version(self) -> None:
        """Leave the database alone: Piccolo would connect as soon as the engine is made."""

    async def open(self) -> None:
        """Connect once, to see that it can be done."""
        # Were there a least size, the pool would fill the log with tracebacks for as long as the database is away.
        await self.start_connection_pool(min_size=0, max_size=POOL_SIZE)
        try:
            async with self.connection(write=False):
                pass
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let every connection go, waiting a moment for those in use."""
        pool, self.pool = self.pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), CLOSING_SECONDS)
        except TimeoutError:
            pool.terminate()

    async def writability(self) -> Writability:
        """Return whether a new transaction could write."""
        async with self._held(write=True) as connection:
            is_standby, read_only = await connection.fetchrow(
                "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')"
            )
        if is_standby:
            return "standby"
        return "read-only" if read_only == "on" else "ok"

    @asynccontextmanager
    async def connection(self, *, write: bool) -> AsyncIterator[object]:
        """Hold a connection with a transaction on it; a reading one sees one moment of the database."""
        isolation = "read_committed" if write else "repeatable_read"
        async with (
            self._held(write=write) as connection,
            connection.transaction(isolation=isolation, readonly=not write),
        ):
            yield connection

    @asynccontextmanager
    async def _held(self, *, write: bool) -> AsyncIterator[Any]:
        """Hold a connection of the pool, to write with one that takes writes as far as its server told.

        Raises `Busy` when others have all of them, `OSError` when there is no server.
        """
        pool = self.pool
        if pool is None:
            raise ConnectionError("the database is closed")
        connection = await _acquired(pool)
        if write and _refuses_writes(connection):
            connection.terminate()
            await pool.release(connection)
            connection = await _acquired(pool)
        try:
            yield connection
        finally:
            await pool.release(connection)

    async def _run_in_pool(self, query: str, args: Sequence[Any] | None = None) -> Any:
        """Run a query outside a transaction, as Piccolo Admin does."""
        async with self._held(write=True) as connection:
            return await connection.fetch(query, *args or ())


async def _acquired(pool: Pool) -> Any:
    try:
        return await pool.acquire(timeout=BUSY_SECONDS)
    except TimeoutError as error:
        if pool.get_size() == POOL_SIZE and not pool.get_idle_size():
            raise Busy(f"others have had all {POOL_SIZE} connections for {BUSY_SECONDS} s") from error
        raise


def _refuses_writes(connection: Any) -> bool:
    """Tell whether the session is read-only, as the server reports by itself since PostgreSQL 14.

    It may stay so when the database takes writes again: `ALTER DATABASE … SET` is for new sessions, and after a
    failover the address may lead to another server.
    """
    told = connection.get_settings()
    return any(getattr(told, name, "off") == "on" for name in ("default_transaction_read_only", "in_hot_standby"))


Database = SQLite | Postgres


def build(url: str) -> Database:
    """Return the engine of a database address, not yet opened."""
    return SQLite(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else Postgres(url)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """Open the database and bind every table to it while the context lasts.

    Raises `SettingsError` when it cannot be opened at all.
    """
    database = build(url)
    try:
        await database.open()
    except Exception as error:  # noqa: BLE001 - a driver raises many kinds for an address that it cannot use
        raise SettingsError(unusable(database, error)) from None  # it may quote the address, with its password
    bind(database)
    try:
        yield database
    finally:
        await database.close()


def bind(database: Database) -> None:
    """Make every table use this database."""
    tables: list[type[Table]] = [*TABLES, Migration]
    for table in tables:
        table._meta.db = database


def bound() -> Database | None:
    """Return the database the tables are bound to, if any was opened."""
    # not `_meta.db`, which would go and look for one
    return cast("Database | None", TABLES[0]._meta._db)


@asynccontextmanager
async def transaction(*, within: float | None = WHOLE_SECONDS) -> AsyncIterator[None]:
    """Run queries that write in one transaction: all of them count, or none; `within` seconds, if that is not None.

    On SQLite writers take turns. Within another transaction it joins that one. Nothing but queries belongs inside, and
    tasks started there must not query: they would inherit a connection that is closed when they use it.
    Raises `Refused(unavailable)`.
    """
    async with _transaction(write=True, within=within):
        yield


@asynccontextmanager
async def snapshot() -> AsyncIterator[None]:
    """Run queries that only read, so that they all see the same moment. Raises `Refused(unavailable)`."""
    async with _transaction(write=False, within=WHOLE_SECONDS):
        yield


@asynccontextmanager
async def _transaction(*, write: bool, within: float | None) -> AsyncIterator[None]:
    database = bound()
    if database is None:
        raise RuntimeError(NOT_OPENED)
    if database.transaction_exists():
        yield
        return
    # Piccolo's own transactions never give the connection back when BEGIN or COMMIT fails; its queries need only this.
    current = cast("ContextVar[SimpleNamespace | None]", database.current_transaction)
    kind: Doing = "write" if write else "read"
    since = time.perf_counter()
    with database.outages.noted(kind):
        async with asyncio.timeout(within), database.connection(write=write) as connection:
            DATABASE_WAIT.labels(kind).observe(time.perf_counter() - since)
            token = current.set(SimpleNamespace(connection=connection))
            try:
                yield
            finally:
                current.reset(token)


async def writability() -> Writability:
    """Return whether the open database takes writes. Raises `Refused(unavailable)`."""
    database = bound()
    if database is None:
        raise RuntimeError(NOT_OPENED)
    with available():
        return await database.writability()


def unusable(database: Database | None, error: BaseException | None) -> str:
    """Say which setting is wrong when the database cannot be used, and what to do, without any part of its address."""
    if isinstance(database, SQLite):
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error  # without the path
        return (
            f"CHATKEY_DATA_DIR or CHATKEY_DATABASE_URL: the database file cannot be opened ({reason}); write a place "
            "where there is room and this user may write"
        )
    return f"CHATKEY_DATABASE_URL (not shown): {_remedy(error)}"


def _remedy(error: BaseException | None) -> str:
    if isinstance(error, pg.InsufficientPrivilegeError):
        return "the database's user may not do this; use the owner of the database, or GRANT the user CREATE and USAGE"
    if isinstance(error, pg.ReadOnlySQLTransactionError):
        return "the database is read-only; write the address of the primary, or wait until it takes writes"
    if isinstance(error, pg.UndefinedTableError):
        return "the database has no tables; run `chatkey db migrate`"
    return (
        f"the database cannot be reached ({type(error).__name__}); check that it runs, and its host, name, user and "
        "password"
    )
