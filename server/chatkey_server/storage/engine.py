"""Opens the database of this process once and binds every table to it. A transaction always releases its connection."""

# ruff: noqa: SLF001 - Piccolo keeps a table's description in `_meta`
from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import structlog
from asyncpg import exceptions as pg  # type: ignore[import-untyped]
from piccolo.apps.migrations.tables import Migration
from piccolo.engine.postgres import PostgresEngine
from piccolo.engine.sqlite import SQLiteEngine
from piccolo.table import Table

from chatkey_server.metrics import DATABASE_WAIT
from chatkey_server.settings import SettingsError
from chatkey_server.storage.availability import Busy, Doing, Outages, available, is_stale
from chatkey_server.storage.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    import aiosqlite
    from asyncpg import Pool

log = structlog.get_logger("chatkey.database")

BUSY_SECONDS = 5
"""How long a write to SQLite waits for other writers, and a query for a connection to PostgreSQL."""
CLOSING_SECONDS = 1
"""How long the process waits at its end for connections that are still in use."""
WHOLE_SECONDS = 15
"""Timeout for a whole transaction, so that a database that stops responding does not block requests for ever."""
POOL_SIZE = 10
SQLITE = "sqlite:///"
UNCACHED = "statement_cache_size=0"
"""This option in a PostgreSQL URL disables prepared statements. A transaction pooler such as pgbouncer needs that."""

NOT_OPENED = "no database was opened: use `async with opened(url)` first"

_T = TypeVar("_T")
Writability = Literal["ok", "read-only", "standby"]
"""Whether a database accepts writes. A standby is a PostgreSQL server that has not been promoted."""


class SQLiteConnection(sqlite3.Connection):
    """A connection that lets the operating system decide when data is written to the disk.

    In WAL mode, committed data survives a crash of the process. A power failure may lose the last commits, but does not
    damage the database.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute("PRAGMA synchronous = NORMAL")


class SQLite(SQLiteEngine):
    """An SQLite file. Piccolo opens a connection for each query. Writers of this process wait for `writing`."""

    def __init__(self, path: str) -> None:
        self.file = Path(path).absolute()
        # mode=rw: if the file vanished, SQLite would otherwise create an empty one
        super().__init__(f"{self.file.as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, factory=SQLiteConnection)
        self.writing = asyncio.Lock()
        self.outages = Outages()
        self._running: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        """Create the file if it does not exist, switch it to WAL, and keep one connection open.

        SQLite merges the WAL into the file when the last connection closes. Without the open connection, this would
        happen after each query, and writes would take ten times as long.
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
        """Close the connection that was kept open, so that the file may be moved or removed.

        Queries that nobody waits for any more have a moment to end.
        """
        if self._running:
            await asyncio.wait(self._running, timeout=CLOSING_SECONDS)
        self._kept.close()

    async def writability(self) -> Writability:
        """Return whether the file is writable."""
        return "ok" if os.access(self.file, os.W_OK) else "read-only"

    @asynccontextmanager
    async def connection(self, *, write: bool) -> AsyncIterator[aiosqlite.Connection]:
        """Open a connection with a transaction, and close it when the context ends."""
        if not write:
            async with self._begun("BEGIN") as connection:
                yield connection
            return
        try:
            async with asyncio.timeout(BUSY_SECONDS):  # Python 3.11's `wait_for` can lose a cancellation
                await self.writing.acquire()
        except TimeoutError as error:
            raise Busy(f"other transactions have been writing for {BUSY_SECONDS} s") from error
        try:
            async with self._begun("BEGIN IMMEDIATE") as connection:
                yield connection
        finally:
            self.writing.release()

    @asynccontextmanager
    async def _begun(self, begin: str) -> AsyncIterator[aiosqlite.Connection]:
        connection = await self._opened()
        try:
            await connection.execute(begin)
            try:
                yield connection
            except BaseException:
                with suppress(sqlite3.Error):  # the first error is the one to report
                    await connection.interrupt()  # stops a query whose result is no longer needed
                    await connection.execute("ROLLBACK")
                raise
            await connection.execute("COMMIT")
        finally:
            await asyncio.shield(self._started(connection.close()))

    async def _opened(self) -> aiosqlite.Connection:
        opening = self._started(self.get_connection())
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            self._started(_close(opening))
            raise

    async def _run_in_new_connection(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.shield(self._started(super()._run_in_new_connection(*args, **kwargs)))

    def _started(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Start work that goes on if the waiting task is cancelled, so that `close` can wait for it.

        aiosqlite answers from a thread, which fails if the event loop is closed by then.
        """
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task


async def _close(opening: asyncio.Task[aiosqlite.Connection]) -> None:
    with suppress(sqlite3.Error):  # then there is no connection to close
        await (await opening).close()


def _make_private(file: Path) -> None:
    """Create a database file that only its owner can read, unless it exists. SQLite gives the WAL the same mode."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if file.stat().st_mode & 0o077:
            log.warning("database.exposed", file=str(file), remedy=f"chmod 600 {file}")


class Postgres(PostgresEngine):
    """A PostgreSQL database with a connection pool."""

    def __init__(self, url: str) -> None:
        self.outages = Outages()
        self._returning: set[asyncio.Task[None]] = set()
        # asyncpg accepts it only as an argument; in the URL it would be sent to the server
        prepared = {"statement_cache_size": 0} if UNCACHED in url else {}
        dsn = url.replace(UNCACHED, "")
        server_settings = {"application_name": "chatkey"}
        super().__init__({"dsn": dsn, "timeout": BUSY_SECONDS, "server_settings": server_settings, **prepared})

    async def check_version(self) -> None:
        """Do nothing, because Piccolo's own check would connect as soon as the engine is created."""

    async def open(self) -> None:
        """Create the pool, and connect once to test the connection."""
        # With a minimum size, the pool would fill the log with tracebacks for as long as the database is away.
        await self.start_connection_pool(min_size=0, max_size=POOL_SIZE, reset=_keep)
        try:
            async with self.connection(write=False):
                pass
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close all connections. Wait a moment for connections that are in use."""
        pool, self.pool = self.pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), CLOSING_SECONDS)
        except TimeoutError:
            pool.terminate()

    async def writability(self) -> Writability:
        """Return whether a new transaction could write."""
        async with self.held(write=True) as connection:
            is_standby, read_only = await connection.fetchrow(
                "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')"
            )
        if is_standby:
            return "standby"
        return "read-only" if read_only == "on" else "ok"

    @asynccontextmanager
    async def connection(self, *, write: bool) -> AsyncIterator[object]:
        """Hold a connection with a transaction. A read transaction sees the database as it was at one moment.

        If the transaction cannot begin because the connection is stale, another connection is tried once.
        """
        isolation = "read_committed" if write else "repeatable_read"
        for is_repeated in (False, True):
            async with self.held(write=write) as connection, AsyncExitStack() as begun:
                may_write = not _refuses_writes(connection)
                try:
                    await begun.enter_async_context(connection.transaction(isolation=isolation, readonly=not write))
                except Exception as error:
                    if is_repeated or not is_stale(error):
                        raise
                    await self._renew()
                    continue
                if write and may_write and _refuses_writes(connection) and not is_repeated:
                    continue  # the server has reported it only now
                yield connection
                return

    async def write_at_once(self, statement: str, *args: object) -> list[Mapping[str, Any]]:
        """Run one statement as a transaction of its own. If the connection is stale, run it once more on another."""
        for is_repeated in (False, True):
            since = time.perf_counter()
            try:
                async with self.held(write=True) as connection:
                    DATABASE_WAIT.labels("write").observe(time.perf_counter() - since)
                    rows: list[Mapping[str, Any]] = await connection.fetch(statement, *args)
                    return rows
            except Exception as error:
                if is_repeated or not is_stale(error):
                    raise
        raise AssertionError("the second attempt returns or raises")

    @asynccontextmanager
    async def held(self, *, write: bool) -> AsyncIterator[Any]:
        """Hold a connection from the pool. The caller does not wait until the pool has it back.

        With `write`, do not use a connection that the server has reported as read-only. At the first sign that a
        connection no longer leads to the primary, the whole pool is replaced. Raises `Busy` if all connections are in
        use, and `OSError` if no server responds.
        """
        pool = self.pool
        if pool is None:
            raise ConnectionError("the database is closed")
        connection = await _acquired(pool)
        if write and _refuses_writes(connection):
            await self._renew()
            await pool.release(connection)  # closes it
            connection = await _acquired(pool)
        try:
            yield connection
        except Exception as error:
            if is_stale(error):
                await self._renew()
            raise
        finally:
            returning = asyncio.create_task(pool.release(connection))
            self._returning.add(returning)
            returning.add_done_callback(self._returning.discard)

    async def _renew(self) -> None:
        """Replace all connections, each at its next use: after a switch-over all of them are stale."""
        if self.pool is not None:
            await self.pool.expire_connections()

    async def _run_in_pool(self, query: str, args: Sequence[Any] | None = None) -> Any:
        """Run a query outside a transaction, as Piccolo Admin does."""
        async with self.held(write=True) as connection:
            return await connection.fetch(query, *args or ())


async def _acquired(pool: Pool) -> Any:
    try:
        return await pool.acquire(timeout=BUSY_SECONDS)
    except TimeoutError as error:
        if pool.get_size() == POOL_SIZE and not pool.get_idle_size():
            raise Busy(f"all {POOL_SIZE} connections have been in use for {BUSY_SECONDS} s") from error
        raise


async def _keep(_: Any) -> None:
    """Leave the session of a returned connection as it is.

    A transaction changes nothing outside itself, and asyncpg's own statement would cost one more round trip.
    """


def _refuses_writes(connection: Any) -> bool:
    """Return whether the session is read-only. PostgreSQL 14 and later report this without a query.

    A session may stay read-only when the database accepts writes again: `ALTER DATABASE … SET` applies only to new
    sessions, and after a failover the URL may lead to another server.
    """
    told = connection.get_settings()
    return any(getattr(told, name, "off") == "on" for name in ("default_transaction_read_only", "in_hot_standby"))


Database = SQLite | Postgres


def build(url: str) -> Database:
    """Return the engine for a database URL, without opening the database."""
    return SQLite(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else Postgres(url)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """Open the database and bind every table to it while the context lasts.

    Raises `SettingsError` if the database cannot be opened.
    """
    database = build(url)
    try:
        await database.open()
    except Exception as error:  # noqa: BLE001 - a driver raises many kinds for an address that it cannot use
        raise SettingsError(unusable(database, error)) from None  # it may contain the URL with its password
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
    """Return the database that the tables are bound to, or None if none was opened."""
    # not `_meta.db`, which would search for one
    return cast("Database | None", TABLES[0]._meta._db)


@asynccontextmanager
async def transaction(*, within: float | None = WHOLE_SECONDS) -> AsyncIterator[None]:
    """Run queries in one write transaction.

    All of the queries take effect, or none. `within` is the timeout in seconds.

    On SQLite, writers take turns. A transaction inside another one joins the outer one. Use it only for queries. A task
    that is started inside must not query, because the task would inherit a connection that may be closed by then.
    Raises `Refused(unavailable)`.
    """
    async with _transaction(write=True, within=within):
        yield


async def write_at_once(statement: str, *args: object) -> list[Mapping[str, Any]]:
    """Run one statement as a transaction of its own, in one round trip, and return its rows. Only for PostgreSQL.

    If the connection breaks, the statement is repeated once, although it may have taken effect. So it must change
    nothing if it runs again, or violate a constraint. Raises `Refused(unavailable)`.
    """
    database = bound()
    if not isinstance(database, Postgres):
        raise TypeError(NOT_OPENED)
    with database.outages.noted("write"):
        async with asyncio.timeout(WHOLE_SECONDS):
            return await database.write_at_once(statement, *args)


@asynccontextmanager
async def snapshot() -> AsyncIterator[None]:
    """Run read queries that all see the database as it was at one moment. Raises `Refused(unavailable)`."""
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
    # Piccolo's own transactions leak the connection if BEGIN or COMMIT fails. Its queries need only this attribute.
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
    """Return whether the open database accepts writes. Raises `Refused(unavailable)`."""
    database = bound()
    if database is None:
        raise RuntimeError(NOT_OPENED)
    with available():
        return await database.writability()


def unusable(database: Database | None, error: BaseException | None) -> str:
    """Return which setting is wrong if the database cannot be used, and how to correct it. The URL is not quoted."""
    if isinstance(database, SQLite):
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error  # without the path
        return (
            f"CHATKEY_DATA_DIR or CHATKEY_DATABASE_URL: the database file cannot be opened ({reason}); set it to "
            "a place with free space where this user may write"
        )
    return f"CHATKEY_DATABASE_URL (not shown): {_remedy(error)}"


def _remedy(error: BaseException | None) -> str:
    if isinstance(error, pg.InsufficientPrivilegeError):
        return (
            "the database's user lacks a privilege; use the owner of the database, or GRANT the user CREATE and USAGE"
        )
    if isinstance(error, pg.ReadOnlySQLTransactionError):
        return "the database is read-only; set the address of the primary, or wait until it accepts writes"
    if isinstance(error, pg.UndefinedTableError):
        return "the database has no tables; run `chatkey db migrate`"
    return (
        f"the database cannot be reached ({type(error).__name__}); check that it runs, and check the host, "
        "name, user and password"
    )
