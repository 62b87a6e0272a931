"""Sessions and businesses of agents, and what their list of conversations is filtered and searched by."""

# ruff: noqa: SLF001 - Piccolo keeps a table's description in `_meta`

from typing import Any

from piccolo.apps.migrations.auto.migration_manager import MigrationManager
from piccolo.columns import UUID, BigInt, Boolean, Column, ForeignKey, OnDelete, Text, Varchar
from piccolo.columns.defaults.uuid import UUID4
from piccolo.table import Table

from chatkey_server.storage.text import fold

ID = "2026-11-22T12:00:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "Sessions and businesses of agents, and what their list of conversations is filtered and searched by."


class Provider(Table, tablename="provider"):
    id = Varchar(length=64, primary_key=True)


class Agent(Table, tablename="agent"):
    id = UUID(primary_key=True, default=UUID4())
    all_providers = Boolean(default=True)


class AgentProvider(Table, tablename="agent_provider"):
    agent = ForeignKey(references=Agent, on_delete=OnDelete.cascade, null=False)
    provider = ForeignKey(references=Provider, on_delete=OnDelete.cascade, null=False)


class AgentSession(Table, tablename="agent_session"):
    id = Varchar(length=64, primary_key=True, secret=True)
    agent = ForeignKey(references=Agent, on_delete=OnDelete.cascade, null=True, default=None)
    expires_at = BigInt()


class ChatCustomer(Table, tablename="chat_customer"):
    folded = Text(default="")


class Conversation(Table, tablename="conversation"):
    waiting = Boolean(default=False)
    answered_by = Varchar(length=64, null=True, default=None)


TABLES: list[type[Table]] = [AgentProvider, AgentSession]
COLUMNS: list[Column] = [
    Agent.all_providers,
    ChatCustomer.folded,
    Conversation.waiting,
    Conversation.answered_by,
]

WAITING = """
    UPDATE conversation SET waiting =
        EXISTS (SELECT 1 FROM message WHERE message.conversation = conversation.id
            AND message.seq = conversation.last_seq AND message.sender = 'customer')
        OR EXISTS (SELECT 1 FROM call WHERE call.conversation = conversation.id AND call.state = 'ringing')
"""
ANSWERED = """
    UPDATE conversation SET answered_by = (
        SELECT name FROM message WHERE message.conversation = conversation.id AND message.sender = 'agent'
        ORDER BY seq DESC LIMIT 1
    )
"""
INDEXES = {
    "agent_provider_key": "UNIQUE INDEX {} ON agent_provider (agent, provider)",
    "conversation_of_provider": "INDEX {} ON conversation (provider, last_at)",
    "conversation_of_agent": "INDEX {} ON conversation (answered_by, last_at)",
    "conversation_of_member": "INDEX {} ON conversation (last_at) WHERE login <> 'visitor'",
    "conversation_waiting": "INDEX {} ON conversation (last_at) WHERE waiting",
}


class Manager(MigrationManager):
    """Fills the new columns once they are there; Piccolo runs a migration's own statements before it adds any."""

    async def run(self, backwards: bool = False) -> None:
        """Run the migration."""
        await super().run(backwards=backwards)
        if not backwards:
            await fill()


async def fill() -> None:
    """Say of what is stored who waits, who answered and what is searched, and create the indexes."""
    for row in await _run("SELECT id, uid, name, email FROM chat_customer"):
        text = "\n".join(filter(None, (row["name"], row["email"], row["uid"])))
        await _run("UPDATE chat_customer SET folded = {} WHERE id = {}", fold(text), row["id"])
    await _run(WAITING)
    await _run(ANSWERED)
    for name, definition in INDEXES.items():
        await _run(f"CREATE {definition.format(name)}")


async def drop() -> None:
    """Drop the indexes."""
    for name in INDEXES:
        await _run(f"DROP INDEX {name}")


async def _run(statement: str, *values: object) -> list[dict[str, Any]]:
    class RawTable(Table):
        """Only a way to the database; made anew, because it keeps the first one it was used with."""

    return [dict(row) for row in await RawTable.raw(statement, *values) or ()]


async def forwards() -> MigrationManager:
    """Create tables, columns and indexes."""
    manager = Manager(migration_id=ID, app_name="chatkey", description=DESCRIPTION)
    for table in TABLES:
        manager.add_table(class_name=table.__name__, tablename=table._meta.tablename)
    added = [column for table in TABLES for column in table._meta.non_default_columns]
    for column in [*added, *COLUMNS]:
        manager.add_column(
            table_class_name=column._meta.table.__name__,
            tablename=column._meta.table._meta.tablename,
            column_name=column._meta.name,
            column_class=type(column),
            params=column._meta.params,
        )
    manager.add_raw_backwards(drop)
    return manager
