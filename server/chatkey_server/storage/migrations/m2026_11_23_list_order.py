"""The time by which conversations are listed, in milliseconds."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager
from piccolo.table import Table

ID = "2026-11-23T12:00:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "The time by which conversations are listed, in milliseconds: two who write in one second have an order."


async def to_milliseconds() -> None:
    """Say of every conversation in milliseconds what was said in seconds."""
    await _run("UPDATE conversation SET last_at = last_at * 1000")


async def to_seconds() -> None:
    """Say it in seconds again."""
    await _run("UPDATE conversation SET last_at = last_at / 1000")


async def _run(statement: str) -> None:
    class RawTable(Table):
        """Only a way to the database; made anew, because it keeps the first one it was used with."""

    await RawTable.raw(statement)


async def forwards() -> MigrationManager:
    """Change the unit, there and back."""
    manager = MigrationManager(migration_id=ID, app_name="chatkey", description=DESCRIPTION)
    manager.add_raw(to_milliseconds)
    manager.add_raw_backwards(to_seconds)
    return manager
