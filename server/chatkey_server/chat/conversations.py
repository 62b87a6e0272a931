"""Conversations and their messages in the database: numbered without gaps, stored once per `id`."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from piccolo.columns.combination import And, WhereRaw
from piccolo.custom_types import Combinable
from piccolo.query.methods.select import Select

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import Entry, Sender
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import SocketIdentity
from chatkey_server.storage.tables import Conversation, Message

ENTRIES: Final = 50
"""The most messages that are read at once, by a history or a search."""

ENTRY: Final = (
    Message.message_id.as_alias("id"),
    Message.seq,
    Message.sender,
    Message.name,
    Message.body,
    Message.sent_at,
)


class Locked(NamedTuple):
    """A conversation whose row is held until the transaction ends, so that its numbers go up one by one."""

    id: UUID
    provider: str
    login: str
    uid: str
    last_seq: int


class Draft(NamedTuple):
    """A message that has no number yet."""

    id: str
    sender: Sender
    name: str | None
    body: str


class Stored(NamedTuple):
    """A message with its number. `fresh` is false when it had been stored before."""

    entry: Entry
    fresh: bool


async def lock_own(identity: SocketIdentity, customer: UUID | None, now: float) -> Locked:
    """Hold the person's conversation, begun when there is none. Inside a transaction only."""
    row = Conversation(
        provider=identity.pid, login=identity.login, uid=identity.uid, customer=customer, last_seq=0, last_at=int(now)
    )
    rows = (
        await Conversation.insert(row)
        .on_conflict(
            target=(Conversation.provider, Conversation.login, Conversation.uid),
            action="DO UPDATE",
            values=[Conversation.customer],
        )
        .returning(Conversation.id, Conversation.last_seq)
    )
    return Locked(rows[0]["id"], identity.pid, identity.login, identity.uid, rows[0]["last_seq"])


async def lock(conversation: UUID) -> Locked:
    """Hold a conversation by its id; refuses with `not_found`. Inside a transaction only."""
    held = await _lock(Conversation.id == conversation)
    if held is None:
        raise Refused(Code.NOT_FOUND, "There is no such conversation.", member="conversation")
    return held


async def lock_begun(identity: SocketIdentity) -> Locked | None:
    """Hold the person's conversation if there is one. Inside a transaction only."""
    return await _lock(
        And(
            And(Conversation.provider == identity.pid, Conversation.login == identity.login),
            Conversation.uid == identity.uid,
        )
    )


async def append(conversation: Locked, draft: Draft, now: float) -> Stored:
    """Store a message under the next number; one that is there under the same id is returned as it is."""
    found = await Message.select(*ENTRY).where(Message.conversation == conversation.id, Message.message_id == draft.id)
    if found:
        return Stored(entry_of(found[0]), fresh=False)
    seq, sent_at = conversation.last_seq + 1, int(now)
    await Message.insert(
        Message(
            conversation=conversation.id,
            seq=seq,
            message_id=draft.id,
            sender=draft.sender,
            name=draft.name,
            body=draft.body,
            folded=fold(draft.body),
            sent_at=sent_at,
        )
    )
    await Conversation.update({Conversation.last_seq: seq, Conversation.last_at: sent_at}).where(
        Conversation.id == conversation.id
    )
    entry = Entry(id=draft.id, seq=seq, sender=draft.sender, name=draft.name, body=draft.body, sent_at=sent_at)
    return Stored(entry, fresh=True)


async def own_page(identity: SocketIdentity, before: int | None, limit: int) -> tuple[list[Entry], bool]:
    """Return the person's newest messages below `before`, in order, and whether older ones exist."""
    return await _page(_own(identity), before, limit)


async def page(conversation: UUID, before: int | None, limit: int) -> tuple[list[Entry], bool]:
    """Return a conversation's newest messages below `before`, in order, and whether older ones exist."""
    return await _page(Message.select(*ENTRY).where(Message.conversation == conversation), before, limit)


async def find(identity: SocketIdentity, text: str) -> list[Entry]:
    """Return the person's newest messages that contain the text, letter case ignored, in order."""
    contains = WhereRaw("message.folded LIKE {} ESCAPE '!'", f"%{_escaped(fold(text))}%")
    rows = await _own(identity).where(contains).order_by(Message.seq, ascending=False).limit(ENTRIES)
    return [entry_of(row) for row in reversed(rows)]


def fold(text: str) -> str:
    """Return a text as it is searched: letter case and the spelling of accents do not count."""
    return unicodedata.normalize("NFC", text).casefold()


async def _lock(which: Combinable) -> Locked | None:
    # An update that changes nothing holds the row on both databases.
    rows = (
        await Conversation.update({Conversation.last_seq: Conversation.last_seq})
        .where(which)
        .returning(Conversation.id, Conversation.provider, Conversation.login, Conversation.uid, Conversation.last_seq)
    )
    return Locked(**rows[0]) if rows else None


def _own(identity: SocketIdentity) -> Select[Message]:
    owner = Message.conversation._  # how Piccolo spells a joined table for type checkers
    return Message.select(*ENTRY).where(
        owner.provider == identity.pid, owner.login == identity.login, owner.uid == identity.uid
    )


async def _page(query: Select[Message], before: int | None, limit: int) -> tuple[list[Entry], bool]:
    if before is not None:
        query = query.where(Message.seq < before)
    rows: Sequence[Mapping[str, object]] = await query.order_by(Message.seq, ascending=False).limit(limit + 1)
    return [entry_of(row) for row in reversed(rows[:limit])], len(rows) > limit


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def entry_of(row: Mapping[str, object]) -> Entry:
    """Return a selected row of `ENTRY` as what it is."""
    return row  # type: ignore[return-value]  # the columns of `ENTRY` are the members of Entry
