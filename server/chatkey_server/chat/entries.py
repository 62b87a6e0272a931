"""A stored message as it is told: the columns that are read, and what a row of them is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from chatkey_protocol.frames import Entry
from chatkey_server.storage.tables import Message

ENTRY: Final = (
    Message.message_id.as_alias("id"),
    Message.seq,
    Message.sender,
    Message.name,
    Message.body,
    Message.sent_at,
)


def entry_of(row: Mapping[str, object]) -> Entry:
    """Return a selected row of `ENTRY` as what it is."""
    return row  # type: ignore[return-value]  # the columns of `ENTRY` are the members of Entry


def in_order(newest_first: Sequence[Mapping[str, object]]) -> list[Entry]:
    """Return rows that were selected from the newest down in the order in which they were said."""
    return [entry_of(row) for row in reversed(newest_first)]
