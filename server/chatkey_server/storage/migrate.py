"""Runs the migrations, from the command line or when a server with an embedded database starts."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from asyncpg import InsufficientPrivilegeError, PostgresError  # type: ignore[import-untyped]
from piccolo.apps.migrations.tables import Migration

from chatkey_server.settings import Settings, SettingsError
from chatkey_server.storage import migrations, schema_changes
from chatkey_server.storage.availability import available, is_away
from chatkey_server.storage.engine import BUSY_SECONDS, Database, Postgres, SQLite, bound, snapshot, transaction
from chatkey_server.storage.schema_changes import (
    SESSION,
    Change,
    Changes,
    Contended,
    Definitions,
    Index,
    Report,
)
from chatkey_server.storage.tables import Provider
from chatkey_server.storage.vault import Vault

APP = "chatkey"
LOCK = 0x63686B79
"""Our number for PostgreSQL's advisory lock. Of two processes, one migrates and the other waits."""


class Step(Protocol):
    """A migration: a module that makes one change."""

    ID: str
    DESCRIPTION: str
    CHANGE: Change


def steps() -> list[Step]:
    """Return all migrations in the order in which they run."""
    names = (f"{migrations.__name__}.{module.name}" for module in iter_modules(migrations.__path__))
    return sorted((cast("Step", import_module(name)) for name in names), key=lambda step: step.ID)


async def pending() -> list[str]:
    """Return the ids of the migrations that have not run in the open database. Raises `Refused(unavailable)`."""
    async with snapshot():
        return [step.ID for step in await _missing()]


async def migrate(report: Report = lambda _: None) -> list[str]:
    """Bring the open database up to date, and return the ids of the migrations that ran.

    `report` is called with a line for each migration and for each long step. On SQLite, either all migrations run or
    none. On PostgreSQL, each migration is committed separately; after an interruption the next call continues.

    Raises `SettingsError` for a database whose tables were not created by chatkey, or whose tables are kept locked by
    other sessions.
    """
    database = bound()
    if isinstance(database, Postgres):
        with available():
            return await _migrate_online(database, report)
    async with transaction(within=None):  # no timeout: migrating a large table takes long
        missing = await _missing()
        for step in missing:
            await _run_at_once(step, cast("SQLite", database))
            report(f"ran {step.ID}")
    return [step.ID for step in missing]


async def ensure(settings: Settings) -> list[str]:
    """Check that the server can use its database: the schema is up to date, and the server has the master key of the
    stored secrets.

    The database must be open. The embedded database is migrated, and the ids of the migrations that ran are returned.
    For any other database, `SettingsError` names the command to run.
    """
    done = await _ensure_migrated(settings)
    async with snapshot():
        sealed = await Provider.select(Provider.sealed_secret_key).first()
    if sealed is not None:
        Vault.of(settings).open(sealed["sealed_secret_key"])
    return done


async def _ensure_migrated(settings: Settings) -> list[str]:
    if not settings.database_url:
        return await migrate()
    if missing := await pending():
        raise SettingsError(
            f"CHATKEY_DATABASE_URL (not shown): the database lacks {len(missing)} migration"
            f"{'s' if len(missing) > 1 else ''}; run `chatkey db migrate`, then start again"
        )
    return []


async def _missing() -> list[Step]:
    """Return the migrations that have not run yet. Unknown migrations of a newer release are ignored."""
    every = steps()
    if not await Migration.table_exists():
        return every
    done = await Migration.get_migrations_which_ran(app_name=APP)
    if done and every[0].ID not in done:
        raise SettingsError(
            "CHATKEY_DATABASE_URL or CHATKEY_DATA_DIR: this database was made by a version before the first "
            "release, which cannot be upgraded; set the address of an empty database, or move the embedded "
            "chatkey.sqlite away"
        )
    return [step for step in every if step.ID not in done]


async def _run_at_once(step: Step, database: SQLite) -> None:
    """Run a migration in the current transaction."""
    connection: Any = cast("Any", database).current_transaction.get().connection
    with _explained(step):
        for statement in _recorded(step, database):
            await connection.execute(statement)


async def _migrate_online(database: Postgres, report: Report) -> list[str]:
    """Run migrations on PostgreSQL while servers use the database."""
    async with _alone(database, report) as connection:
        missing = await _missing()
        for step in missing:
            changes = Changes(connection, partial(_named, report, step))
            with _explained(step):
                await _run_online(step, database, changes)
            report(f"ran {step.ID}")
    return [step.ID for step in missing]


def _named(report: Report, step: Step, line: str) -> None:
    report(f"{step.ID}: {line}")


async def _run_online(step: Step, database: Postgres, changes: Changes) -> None:
    change = step.CHANGE
    if isinstance(change, Definitions):
        await changes.run(_recorded(step, database))
        return
    if isinstance(change, Index):
        await changes.build(change, change.sql(database))
    else:
        await changes.fill(change)
    await changes.run([_record(step)])


def _recorded(step: Step, database: Database) -> list[str]:
    """Return the statements of a migration, and the statement that records the migration."""
    history = Migration.create_table(if_not_exists=True).ddl
    return [*history, *step.CHANGE.sql(database), _record(step)]


def _record(step: Step) -> str:
    return f"INSERT INTO migration (name, app_name) VALUES ('{step.ID}', '{APP}')"  # noqa: S608 - our own words


@asynccontextmanager
async def _alone(database: Postgres, report: Report) -> AsyncIterator[Any]:
    """Hold the lock with which one connection at a time may migrate.

    Ask for the lock again and again instead of waiting for it inside PostgreSQL. A session that waits there is in a
    transaction, and another session that builds an index would wait for that transaction to end.
    """
    if database.pool is None:
        raise ConnectionError("the database is closed")
    async with database.pool.acquire(timeout=BUSY_SECONDS) as connection:
        is_told = False
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK):
            if not is_told:
                report("waiting: another process is migrating this database")
                is_told = True
            await asyncio.sleep(schema_changes.PAUSE_SECONDS)
        try:
            await connection.execute(SESSION)
            yield connection
        finally:
            if not connection.is_closed():
                await connection.reset()  # releases the lock, and undoes `SESSION`


@contextmanager
def _explained(step: Step) -> Iterator[None]:
    """Convert a database error during a migration to a `SettingsError`."""
    try:
        yield
    except Contended as error:
        raise SettingsError(
            f"CHATKEY_DATABASE_URL (not shown): migration {step.ID} {error}; end those "
            "transactions or wait for them, then run `chatkey db migrate` again"
        ) from error
    except InsufficientPrivilegeError as error:
        raise SettingsError(
            f"CHATKEY_DATABASE_URL (not shown): its user may not run migration {step.ID} ({error}); make this user the "
            "owner of the database"
        ) from error
    except (sqlite3.DatabaseError, PostgresError) as error:
        if is_away(error):
            raise
        raise SettingsError(
            f"CHATKEY_DATABASE_URL or CHATKEY_DATA_DIR: migration {step.ID} failed ({error}); set the address of "
            "a database that only chatkey uses"
        ) from error
