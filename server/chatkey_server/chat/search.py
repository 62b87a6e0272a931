"""Finds the messages of a conversation that contain a text, ignoring letter case. Both databases give the same results.

A trigram index (every three consecutive letters) finds candidate messages, and each candidate is then checked. SQLite
has the index as an FTS5 table and PostgreSQL as a GIN index; the migration creates both. The indexed text begins with
three letters for the conversation, so that a search does not read messages of other conversations.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from piccolo.columns.combination import WhereRaw

from chatkey_protocol.frames import ENTRIES, Entry
from chatkey_server.chat.entries import ENTRY, in_order
from chatkey_server.storage.tables import Message
from chatkey_server.storage.text import fold

NEWEST: Final = 5000
"""How many of the newest messages are searched without the index. Frequent texts are found there. So are texts of one
or two letters, which are too short for the index.
"""

_GRAM: Final = 3
_PRIVATE_USE: Final = 0xF0000
_SCOPE_BITS: Final = 15

_HOLDS: Final = {"sqlite": "instr", "postgres": "strpos"}
_INDEXED: Final = {
    "sqlite": """
        SELECT message.message_id AS id, message.seq, sender, name, body, sent_at
        FROM message_search
        JOIN message ON message.conversation = message_search.conversation AND message.seq = message_search.seq
        WHERE message_search MATCH {} AND message_search.conversation = {} AND instr(message_search.folded, {}) > 0
        ORDER BY message_search.rowid DESC LIMIT {}
    """,
    "postgres": """
        SELECT message_id AS id, seq, sender, name, body, sent_at
        FROM message
        WHERE message_trigrams(folded) @> {} AND conversation = {} AND strpos(folded, {}) > 0
        ORDER BY seq DESC LIMIT {}
    """,
}


def searchable(conversation: UUID, body: str) -> str:
    """Return the text that the index stores for a message."""
    return _scope(conversation) + fold(body)


async def find(conversation: UUID, last_seq: int, text: str) -> list[Entry]:
    """Return the newest messages of a conversation that contain the text, oldest first. Call only inside a snapshot."""
    wanted = fold(text)
    found = await _among_newest(conversation, last_seq, wanted)
    if len(found) < ENTRIES and last_seq > NEWEST and len(wanted) >= _GRAM:
        return await _by_index(conversation, wanted)
    return found


async def _among_newest(conversation: UUID, last_seq: int, wanted: str) -> list[Entry]:
    holds = WhereRaw(f"{_HOLDS[engine()]}(message.folded, {{}}) > 0", wanted)
    newest = Message.select(*ENTRY).where(Message.conversation == conversation, Message.seq > last_seq - NEWEST)
    return in_order(await newest.where(holds).order_by(Message.seq, ascending=False).limit(ENTRIES))


async def _by_index(conversation: UUID, wanted: str) -> list[Entry]:
    grams = [_scope(conversation), *_grams(wanted)]
    asked = _quoted(grams) if engine() == "sqlite" else grams
    return in_order(await Message.raw(_INDEXED[engine()], asked, conversation, wanted, ENTRIES))


def engine() -> str:
    """Return the kind of the database: `sqlite` or `postgres`."""
    return str(Message._meta.db.engine_type)  # noqa: SLF001 - Piccolo keeps a table's description in `_meta`


def _grams(text: str) -> list[str]:
    """Return trigrams that together cover the whole text."""
    return [*(text[at : at + _GRAM] for at in range(0, len(text) - _GRAM, _GRAM)), text[-_GRAM:]]


def _quoted(grams: list[str]) -> str:
    """Return an FTS5 query that requires all trigrams (https://www.sqlite.org/fts5.html#full_text_query_syntax)."""
    return " AND ".join('"' + gram.replace('"', '""') + '"' for gram in grams)


def _scope(conversation: UUID) -> str:
    """Return three private-use characters for a conversation.

    Two conversations may have the same characters, because each search result is checked.
    """
    places = range(0, _GRAM * _SCOPE_BITS, _SCOPE_BITS)
    return "".join(chr(_PRIVATE_USE + (conversation.int >> place) % 2**_SCOPE_BITS) for place in places)
