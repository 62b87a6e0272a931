"""The index by which messages are searched."""

# ruff: noqa: SLF001 - Piccolo keeps a table's description in `_meta`

from typing import Any, Final
from uuid import UUID

from piccolo.apps.migrations.auto.migration_manager import MigrationManager
from piccolo.table import Table

ID = "2026-11-22T13:00:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "The index by which messages are searched: every three letters in a row, and whose conversation it is."

CREATE: Final = {
    "sqlite": (
        """
        CREATE VIRTUAL TABLE message_search USING fts5(
            folded, conversation UNINDEXED, seq UNINDEXED, detail = 'none', tokenize = 'trigram case_sensitive 1'
        )
        """,
        """
        CREATE TRIGGER message_searchable AFTER INSERT ON message BEGIN
            INSERT INTO message_search (folded, conversation, seq) VALUES (new.folded, new.conversation, new.seq);
        END
        """,
        """
        CREATE TRIGGER message_unsearchable BEFORE DELETE ON conversation
        WHEN EXISTS (SELECT 1 FROM message WHERE conversation = old.id) BEGIN
            DELETE FROM message_search WHERE rowid IN (
                SELECT message_search.rowid FROM message_search
                WHERE message_search MATCH (
                    SELECT '"' || substr(folded, 1, 3) || '"' FROM message WHERE conversation = old.id LIMIT 1
                ) AND message_search.conversation = old.id
            );
        END
        """,
        """
        INSERT INTO message_search (folded, conversation, seq)
        SELECT folded, conversation, seq FROM message ORDER BY conversation, seq
        """,
    ),
    # Three letters in a row of a text, as an array; written so that a long text takes no more than its length.
    "postgres": (
        """
        CREATE FUNCTION message_trigrams(text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
            SELECT array_agg(DISTINCT gram) FROM (
                SELECT letter || lead(letter) OVER in_order || lead(letter, 2) OVER in_order AS gram
                FROM unnest(string_to_array($1, NULL)) WITH ORDINALITY AS letters (letter, place)
                WINDOW in_order AS (ORDER BY place)
            ) AS grams WHERE gram IS NOT NULL
        $$
        """,
        # Without fastupdate: else one message in a while would wait for all those before it to be sorted in.
        "CREATE INDEX message_search ON message USING gin (message_trigrams(folded)) WITH (fastupdate = off)",
    ),
}
DROP: Final = {
    "sqlite": ("DROP TRIGGER message_unsearchable", "DROP TRIGGER message_searchable", "DROP TABLE message_search"),
    "postgres": ("DROP INDEX message_search", "DROP FUNCTION message_trigrams"),
}


async def create() -> None:
    """Write before each text whose conversation it is in, and make the index."""
    raw = _database()
    for row in await raw.raw("SELECT id FROM conversation"):
        conversation = row["id"]
        await raw.raw(
            "UPDATE message SET folded = CAST({} AS text) || folded WHERE conversation = {}",
            _scope(conversation if isinstance(conversation, UUID) else UUID(conversation)),
            conversation,
        )
    for statement in CREATE[raw._meta.db.engine_type]:
        await raw.raw(statement)


async def drop() -> None:
    """Drop the index, and leave the texts as they were."""
    raw = _database()
    for statement in DROP[raw._meta.db.engine_type]:
        await raw.raw(statement)
    await raw.raw("UPDATE message SET folded = substr(folded, 4)")


def _scope(conversation: UUID) -> str:
    """Return three letters of private use that stand for a conversation, as `chat.search` writes them."""
    return "".join(chr(0xF0000 + (conversation.int >> place) % 2**15) for place in (0, 15, 30))


def _database() -> Any:
    class RawTable(Table):
        """Only a way to the database; made anew, because it keeps the first one it was used with."""

    return RawTable


async def forwards() -> MigrationManager:
    """Make the index, or drop it on the way back."""
    manager = MigrationManager(migration_id=ID, app_name="chatkey", description=DESCRIPTION)
    manager.add_raw(create)
    manager.add_raw_backwards(drop)
    return manager
