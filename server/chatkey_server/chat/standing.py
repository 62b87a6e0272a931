"""Reads the latest state of several people's conversations in one query, and messages by number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from chatkey_protocol.frames import CallEvent, Entry
from chatkey_server.chat.calls import event_of
from chatkey_server.chat.entries import entry_of
from chatkey_server.storage.tables import Conversation, Message

AT_ONCE: Final = 500
"""The most people or messages in one query."""

Person = tuple[str, str, str]
"""Provider, login and uid."""

STANDINGS: Final = """
    SELECT conversation.provider, conversation.login, conversation.uid, conversation.last_seq, conversation.last_at,
        call.id AS call_id, call.state
    FROM conversation LEFT JOIN call ON call.conversation = conversation.id AND call.state <> 'ended'
    WHERE (conversation.provider, conversation.login, conversation.uid) IN (VALUES %s)
"""
"""The query uses the unique index of the conversations, and the index of calls that have not ended."""

NUMBERED: Final = """
    WITH wanted (provider, login, uid, seq) AS (VALUES %s)
    SELECT wanted.provider, wanted.login, wanted.uid, message.message_id AS id, message.seq, message.sender,
        message.name, message.body, message.sent_at
    FROM wanted
        JOIN conversation ON conversation.provider = wanted.provider AND conversation.login = wanted.login
            AND conversation.uid = wanted.uid
        JOIN message ON message.conversation = conversation.id AND message.seq = wanted.seq
    ORDER BY message.seq
"""
"""Each message is selected by its whole key. For a range, PostgreSQL expects too many rows and reads the whole table.
"""


class Standing(NamedTuple):
    """The number and the time (in milliseconds) of the last message, and the call in progress."""

    last_seq: int
    last_at: int
    call: CallEvent | None


NOTHING: Final = Standing(0, 0, None)
"""The state of a conversation that does not exist yet."""


async def standings(people: Sequence[Person]) -> dict[Person, Standing]:
    """Return the state of the conversations of at most `AT_ONCE` people. People without a conversation are left out."""
    values = ", ".join(["({}, {}, {})"] * len(people))
    rows = await Conversation.raw(STANDINGS % values, *chain.from_iterable(people))
    return {_person(row): Standing(row["last_seq"], row["last_at"], _call(row)) for row in rows}


async def numbered(wanted: Sequence[tuple[Person, int]]) -> list[tuple[Person, Entry]]:
    """Return the messages with these numbers. The messages of each person are in the order of `wanted`."""
    batches = [wanted[start : start + AT_ONCE] for start in range(0, len(wanted), AT_ONCE)]
    return [found for batch in batches for found in await _numbered(batch)]


async def _numbered(wanted: Sequence[tuple[Person, int]]) -> list[tuple[Person, Entry]]:
    values = ", ".join(["({}, {}, {}, CAST({} AS INTEGER))"] * len(wanted))
    rows = await Message.raw(NUMBERED % values, *chain.from_iterable((*person, seq) for person, seq in wanted))
    return [(_person(row), entry_of(row)) for row in rows]


def _person(row: dict[str, Any]) -> Person:
    """Remove the columns of the conversation's owner from a row, and return the values of these columns."""
    return row.pop("provider"), row.pop("login"), row.pop("uid")


def _call(row: dict[str, Any]) -> CallEvent | None:
    return None if row["call_id"] is None else event_of(row["call_id"], row["state"])
