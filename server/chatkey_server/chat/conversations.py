"""Stores conversations and messages in the database. Messages are numbered without gaps. Each `id` is stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID, uuid4

from asyncpg import UniqueViolationError  # type: ignore[import-untyped]
from piccolo.columns.combination import And
from piccolo.custom_types import Combinable

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import Entry, Sender
from chatkey_server.chat import search
from chatkey_server.chat.customers import Told
from chatkey_server.chat.entries import ENTRY, entry_of, in_order
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import SocketIdentity
from chatkey_server.storage.engine import write_at_once
from chatkey_server.storage.tables import Conversation, Message

WRITE: Final = """
    INSERT INTO message (id, conversation, seq, message_id, sender, name, body, folded, sent_at)
    VALUES ({}, {}, {}, {}, {}, {}, {}, {}, {})
    ON CONFLICT (conversation, message_id) DO NOTHING RETURNING seq
"""
NOTE: Final = """
    UPDATE conversation
    SET last_seq = {}, last_at = {}, waiting = {}, answered_by = COALESCE({}, answered_by)
    WHERE id = {}
"""
STORE: Final = f"WITH stored AS ({WRITE}) {NOTE} AND EXISTS (SELECT 1 FROM stored) RETURNING id"  # noqa: S608 - our own words
"""`WRITE` and `NOTE` in one statement. SQLite has no statement that changes two tables."""

POST: Final = """
    WITH noted AS (
        UPDATE conversation SET last_seq = last_seq + 1, last_at = $1, waiting = TRUE
        WHERE id = $2 AND (login = 'visitor' OR (
            SELECT known.name IS NOT DISTINCT FROM COALESCE($3, known.name)
            AND known.email IS NOT DISTINCT FROM COALESCE($4, known.email)
            AND known.avatar IS NOT DISTINCT FROM COALESCE($5, known.avatar)
            FROM chat_customer AS known WHERE known.id = conversation.customer
        ))
        RETURNING last_seq
    )
    INSERT INTO message (id, conversation, seq, message_id, sender, name, body, folded, sent_at)
    SELECT $6, $2, last_seq, $7, 'customer', $8, $9, $10, $11 FROM noted
    RETURNING seq
"""
"""Stores a person's message in an existing conversation, if the member's record needs no change. The update locks the
conversation. The subquery selects a value, because PostgreSQL may compute an `EXISTS` for all members at once.
"""


class Locked(NamedTuple):
    """A conversation whose row is locked until the transaction ends, so that message numbers increase one by one."""

    id: UUID
    provider: str
    login: str
    uid: str
    last_seq: int
    last_at: int


class Begun(NamedTuple):
    """A conversation that is read without a lock."""

    id: UUID
    last_seq: int


class Draft(NamedTuple):
    """A message that has no number yet."""

    id: str
    sender: Sender
    name: str | None
    body: str


class Appended(NamedTuple):
    """A stored message, and the new `last_at` of the conversation."""

    entry: Entry
    last_at: int


async def lock_own(identity: SocketIdentity, customer: UUID | None, now: float) -> Locked:
    """Lock the person's conversation; create it if there is none. Call only inside a transaction."""
    row = Conversation(
        provider=identity.pid, login=identity.login, uid=identity.uid, customer=customer, last_seq=0, last_at=_ms(now)
    )
    rows = (
        await Conversation.insert(row)
        .on_conflict(
            target=(Conversation.provider, Conversation.login, Conversation.uid),
            action="DO UPDATE",
            values=[Conversation.customer],
        )
        .returning(Conversation.id, Conversation.last_seq, Conversation.last_at)
    )
    held = rows[0]
    return Locked(held["id"], identity.pid, identity.login, identity.uid, held["last_seq"], held["last_at"])


async def lock(conversation: UUID) -> Locked:
    """Lock a conversation by its id. Raises `Refused(not_found)`. Call only inside a transaction."""
    held = await _lock(Conversation.id == conversation)
    if held is None:
        raise unknown()
    return held


def unknown() -> Refused:
    return Refused(Code.NOT_FOUND, "There is no such conversation.", member="conversation")


async def lock_begun(identity: SocketIdentity) -> Locked | None:
    """Lock the person's conversation if there is one. Call only inside a transaction."""
    return await _lock(_owned_by(identity))


async def append(conversation: Locked, draft: Draft, now: float) -> Appended:
    """Store a message under the next number. If the message's id is already stored, return the stored message."""
    seq, sent_at, last_at = conversation.last_seq + 1, int(now), _ms(now)
    by_agent = draft.sender == "agent"
    folded = search.searchable(conversation.id, draft.body)
    written = (uuid4(), conversation.id, seq, draft.id, draft.sender, draft.name, draft.body, folded, sent_at)
    noted = (seq, last_at, not by_agent, draft.name if by_agent else None, conversation.id)
    if not await _store(written, noted):
        found = await Message.select(*ENTRY).where(
            Message.conversation == conversation.id, Message.message_id == draft.id
        )
        return Appended(entry_of(found[0]), conversation.last_at)
    entry = Entry(id=draft.id, seq=seq, sender=draft.sender, name=draft.name, body=draft.body, sent_at=sent_at)
    return Appended(entry, last_at)


async def post(conversation: UUID, shown: Told, draft: Draft, now: float) -> Appended | None:
    """Store a person's message in one round trip to PostgreSQL. `shown` is the data for the member's record.

    Returns None, and stores nothing, if the conversation has vanished, if the record needs a change, or if the
    message's id is already stored.
    """
    sent_at, last_at, folded = int(now), _ms(now), search.searchable(conversation, draft.body)
    written = (uuid4(), draft.id, draft.name, draft.body, folded, sent_at)
    try:
        rows = await write_at_once(POST, last_at, conversation, *shown, *written)
    except UniqueViolationError:
        return None
    if not rows:
        return None
    entry = Entry(id=draft.id, seq=rows[0]["seq"], sender="customer", name=draft.name, body=draft.body, sent_at=sent_at)
    return Appended(entry, last_at)


async def _store(written: tuple[object, ...], noted: tuple[object, ...]) -> bool:
    """Store a message and note it in its conversation. Returns False if the message's id is already stored."""
    if search.engine() == "postgres":
        return bool(await Message.raw(STORE, *written, *noted))
    if not await Message.raw(WRITE, *written):
        return False
    await Message.raw(NOTE, *noted)
    return True


async def note_call(conversation: UUID, now: float) -> None:
    """Record that the person called. The conversation moves to the top of the list, and is marked as waiting."""
    await Conversation.update({Conversation.last_at: _ms(now), Conversation.waiting: True}).where(
        Conversation.id == conversation
    )


async def note_agent(conversation: UUID, agent: str) -> None:
    """Record the agent who accepted or ended the person's call."""
    await Conversation.update({Conversation.answered_by: agent, Conversation.waiting: False}).where(
        Conversation.id == conversation
    )


async def begun(identity: SocketIdentity) -> Begun | None:
    """Return the person's conversation, or None if there is none."""
    rows = await Conversation.select(Conversation.id, Conversation.last_seq).where(_owned_by(identity))
    return Begun(**rows[0]) if rows else None


async def page(conversation: Begun, before: int | None, limit: int) -> tuple[list[Entry], bool]:
    """Return a conversation's newest messages, oldest first, and whether older messages exist.

    If `before` is set, only messages with lower numbers are returned. The query selects a range of message numbers.
    Without the range, PostgreSQL expects a short conversation, and reads and sorts all messages.
    """
    above = conversation.last_seq + 1 if before is None else min(before, conversation.last_seq + 1)
    rows: Sequence[Mapping[str, object]] = (
        await Message.select(*ENTRY)
        .where(
            Message.conversation == conversation.id,
            Message.seq < above,
            Message.seq >= above - limit - 1,
        )
        .order_by(Message.seq, ascending=False)
    )
    return in_order(rows[:limit]), len(rows) > limit


async def _lock(which: Combinable) -> Locked | None:
    # An update that changes nothing locks the row on both databases.
    columns = (Conversation.id, Conversation.provider, Conversation.login, Conversation.uid)
    counted = (Conversation.last_seq, Conversation.last_at)
    rows = (
        await Conversation.update({Conversation.last_seq: Conversation.last_seq})
        .where(which)
        .returning(*columns, *counted)
    )
    return Locked(**rows[0]) if rows else None


def _ms(now: float) -> int:
    return int(now * 1000)


def _owned_by(identity: SocketIdentity) -> Combinable:
    return And(
        And(Conversation.provider == identity.pid, Conversation.login == identity.login),
        Conversation.uid == identity.uid,
    )
