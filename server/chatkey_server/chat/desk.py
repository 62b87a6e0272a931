"""What agents see: the conversations of the service, newest first, and the messages of one."""

from __future__ import annotations

from typing import Any, Final, TypedDict
from uuid import UUID

from chatkey_protocol.frames import CallState, Entry
from chatkey_server.chat import conversations, entries
from chatkey_server.storage.engine import snapshot
from chatkey_server.storage.tables import Call, Conversation, Message, Provider

MOST: Final = 200
"""How many conversations are listed."""


class CallSummary(TypedDict):
    """The call that is on in a conversation."""

    call_id: str
    state: CallState


class Summary(TypedDict):
    """A conversation in the list: whose it is, how they logged in, and what was said last."""

    id: str
    provider: str
    login: str
    uid: str
    name: str | None
    email: str | None
    auth_provider: str | None
    last_at: int
    last: Entry | None
    call: CallSummary | None


class ProviderName(TypedDict):
    """A provider one can choose in the filter."""

    id: str
    name: str


class Thread(TypedDict):
    """Messages of one conversation, in order, and whether older ones exist."""

    messages: list[Entry]
    more: bool


async def providers() -> list[ProviderName]:
    """Return the providers of the service, by name."""
    async with snapshot():
        rows = await Provider.select(Provider.id, Provider.name).order_by(Provider.name).limit(MOST)
    return [ProviderName(id=row["id"], name=row["name"]) for row in rows]


async def overview(provider: str | None = None) -> list[Summary]:
    """Return the conversations in which something was said last, of one provider or of all."""
    customer = Conversation.customer._
    query = Conversation.select(
        Conversation.id,
        Conversation.provider,
        Conversation.login,
        Conversation.uid,
        Conversation.last_at,
        customer.name.as_alias("name"),
        customer.email.as_alias("email"),
        customer.auth_provider.as_alias("auth_provider"),
    )
    if provider is not None:
        query = query.where(Conversation.provider == provider)
    async with snapshot():
        rows = await query.order_by(Conversation.last_at, ascending=False).limit(MOST)
        ids = [row["id"] for row in rows]
        last = await _last_messages(ids) if ids else {}
        calls = await _open_calls(ids) if ids else {}
    return [_summary(row, last.get(row["id"]), calls.get(row["id"])) for row in rows]


async def thread(conversation: UUID, before: int | None = None) -> Thread:
    """Return the newest messages of a conversation below `before`."""
    async with snapshot():
        messages, more = await conversations.page(conversation, before, entries.ENTRIES)
    return Thread(messages=messages, more=more)


async def _last_messages(ids: list[UUID]) -> dict[UUID, Entry]:
    newest = Message.conversation._.last_seq
    # It is selected, too, because Piccolo joins the tables of selected columns and of a condition's left side only.
    rows = await Message.select(Message.conversation, newest.as_alias("last_seq"), *entries.ENTRY).where(
        Message.conversation.is_in(ids), Message.seq == newest
    )
    return {row.pop("conversation"): _entry(row) for row in rows}


async def _open_calls(ids: list[UUID]) -> dict[UUID, CallSummary]:
    rows = await Call.select(Call.conversation, Call.id, Call.state).where(
        Call.conversation.is_in(ids), Call.state != "ended"
    )
    return {row["conversation"]: CallSummary(call_id=str(row["id"]), state=row["state"]) for row in rows}


def _entry(row: dict[str, Any]) -> Entry:
    del row["last_seq"]
    return entries.entry_of(row)


def _summary(row: dict[str, Any], last: Entry | None, call: CallSummary | None) -> Summary:
    return Summary(
        id=str(row["id"]),
        provider=row["provider"],
        login=row["login"],
        uid=row["uid"],
        name=row["name"],
        email=row["email"],
        auth_provider=row["auth_provider"],
        last_at=row["last_at"],
        last=last,
        call=call,
    )
