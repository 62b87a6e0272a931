"""Selects stored messages and converts the rows to `Entry`, the form in which messages are sent to clients."""

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
    """Convert a row with the columns `ENTRY`."""
    return row  # type: ignore[return-value]  # the columns of `ENTRY` are the members of Entry


def in_order(newest_first: Sequence[Mapping[str, object]]) -> list[Entry]:
    """Convert rows that are sorted newest first, and return the entries oldest first."""
    return [entry_of(row) for row in reversed(newest_first)]
