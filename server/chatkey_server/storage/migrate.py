"""Runs the migrations: from the command line, or at the start of a server that keeps its own database."""

from __future__ import annotations

import os
import sqlite3
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, cast

from asyncpg import PostgresError  # type: ignore[import-untyped]
from piccolo.apps.migrations.tables import Migration

from chatkey_server.settings import Settings, SettingsError
from chatkey_server.storage import migrations
from chatkey_server.storage.availability import is_away
from chatkey_server.storage.engine import Postgres, bound, snapshot, transaction
from chatkey_server.storage.tables import Provider
from chatkey_server.storage.vault import Vault

if TYPE_CHECKING:
    from piccolo.apps.migrations.auto.migration_manager import MigrationManager

APP = "chatkey"
LOCK = 0x63686B79
"""A number of our own for PostgreSQL's advisory lock, so that of two processes one migrates and the other waits."""


class Step(Protocol):
    """A migration, as Piccolo writes them: a module."""

    ID: str
    DESCRIPTION: str

    async def forwards(self) -> MigrationManager:
        """Say what to change."""
        ...


def steps() -> list[Step]:
    """Return every migration, in the order in which they run."""
    names = (f"{migrations.__name__}.{module.name}" for module in iter_modules(migrations.__path__))
    return sorted((cast("Step", import_module(name)) for name in names), key=lambda step: step.ID)


async def pending() -> list[str]:
    """Return the ids of the migrations that the open database still lacks. Raises `Refused(unavailable)`."""
    async with snapshot():
        return [step.ID for step in await _missing()]


async def migrate() -> list[str]:
    """Bring the open database up to date, all or nothing, and return the ids of what was run.

    Raises `SettingsError` for a database whose tables are not ours.
    """
    os.environ["PICCOLO_CONF"] = "chatkey_server.storage.piccolo_conf"  # Piccolo's migrations look for the engine there
    async with transaction(within=None):  # a large table takes as long as it takes
        if isinstance(bound(), Postgres):
            await Migration.raw("SELECT pg_advisory_xact_lock({})", LOCK)
        await Migration.create_table(if_not_exists=True)
        missing = await _missing()
        for step in missing:
            await _run(step)
    return [step.ID for step in missing]


async def ensure(settings: Settings) -> list[str]:
    """Let a server start only on a database it can use: up to date, and sealed with a master key it has.

    Needs the database open. The embedded one is migrated in passing, and what was run is returned; for any other
    `SettingsError` names the command to run.
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
    if not await Migration.table_exists():
        return steps()
    done = await Migration.get_migrations_which_ran(app_name=APP)
    return [step for step in steps() if step.ID not in done]


async def _run(step: Step) -> None:
    manager = await step.forwards()
    try:
        with redirect_stdout(StringIO()):  # Piccolo prints its progress
            await manager.run()
    except (sqlite3.DatabaseError, PostgresError) as error:
        if is_away(error):
            raise
        raise SettingsError(
            f"CHATKEY_DATABASE_URL or CHATKEY_DATA_DIR: migration {step.ID} failed ({error}) and the database is as it "
            "was; write the address of a database that only chatkey uses"
        ) from error
    await Migration.insert(Migration(name=step.ID, app_name=APP))
