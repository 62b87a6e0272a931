"""The composite keys."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager
from piccolo.table import Table

ID = "2026-11-20T12:00:01:000000"
VERSION = "1.38.0"
DESCRIPTION = "The composite keys, as unique indexes: Piccolo's own constraint is one SQLite cannot add to a table."

INDEXES = {
    "registered_domain_key": "registered_domain (provider, domain)",
    "social_login_key": "social_login (provider, social)",
    "oauth_application_key": "oauth_application (holder, social)",
    "chat_customer_key": "chat_customer (provider, login, uid)",
    "conversation_key": "conversation (provider, login, uid)",
    "message_seq_key": "message (conversation, seq)",
    "message_id_key": "message (conversation, message_id)",
    "call_open_key": "call (conversation) WHERE state <> 'ended'",
}


async def create() -> None:
    """Create the indexes."""
    for name, columns in INDEXES.items():
        await _run(f"CREATE UNIQUE INDEX {name} ON {columns}")


async def drop() -> None:
    """Drop the indexes."""
    for name in INDEXES:
        await _run(f"DROP INDEX {name}")


async def _run(statement: str) -> None:
    class RawTable(Table):
        """Only a way to the database."""

    await RawTable.raw(statement)


async def forwards() -> MigrationManager:
    """Create the indexes, or drop them on the way back."""
    manager = MigrationManager(migration_id=ID, app_name="chatkey", description=DESCRIPTION)
    manager.add_raw(create)
    manager.add_raw_backwards(drop)
    return manager
