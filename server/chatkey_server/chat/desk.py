"""Reads what agents see: the conversations of an agent's businesses, newest first, and their messages (D-21)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict
from uuid import UUID

import msgspec
from piccolo.columns import Varchar
from piccolo.columns.combination import And, Or, Where, WhereRaw

from chatkey_protocol.frames import ENTRIES, CallState, Entry
from chatkey_server.chat import conversations, entries
from chatkey_server.chat.conversations import Begun
from chatkey_server.storage.engine import snapshot
from chatkey_server.storage.tables import Call, Conversation, Message, Provider
from chatkey_server.storage.text import containing

if TYPE_CHECKING:
    from piccolo.query.methods.select import Select

    from chatkey_server.storage.agent_sessions import SignedIn

NO_NUL: Final = r"\A[^\0]*\Z"
"""Matches text without NUL characters, which the database cannot take as a parameter."""
PAGE: Final = 50
"""The number of conversations in one page of the list."""
MOST_PROVIDERS: Final = 200
QUERY_CHARS: Final = 100

FOUND: Final = """(
    lower(conversation.uid) LIKE {} ESCAPE '!'
    OR conversation.customer IN (SELECT id FROM chat_customer WHERE folded LIKE {} ESCAPE '!')
)"""
"""The search condition: a visitor is found by uid, which is ASCII, and a member by uid, name and e-mail."""


class Filter(msgspec.Struct, frozen=True):
    """Conditions that select conversations. A conversation must meet all conditions that are set.

    `members`: the person is logged in. `waiting`: no agent has reacted since the person wrote or called. `mine`: this
    agent was the last to answer. `query` is searched for in name, e-mail and uid.
    """

    provider: Annotated[str, msgspec.Meta(max_length=64, pattern=NO_NUL)] | None = None
    members: bool = False
    waiting: bool = False
    mine: bool = False
    query: Annotated[str, msgspec.Meta(max_length=QUERY_CHARS, pattern=NO_NUL)] = ""


EVERYTHING: Final = Filter()


class Place(msgspec.Struct, frozen=True):
    """A position in the list of conversations, given by the columns that sort it. `last_at` is in milliseconds."""

    last_at: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    id: UUID


class CallSummary(TypedDict):
    call_id: str
    state: CallState


class Summary(TypedDict):
    """A conversation in the list: the person, how they logged in, and the last message."""

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


class Listed(TypedDict):
    """Conversations, newest first, and whether older conversations exist."""

    items: list[Summary]
    more: bool


class ProviderName(TypedDict):
    """A provider that the agent can select in the filter."""

    id: str
    name: str


class Thread(TypedDict):
    """Messages of one conversation, oldest first, and whether older messages exist."""

    messages: list[Entry]
    more: bool


async def providers(agent: SignedIn) -> list[ProviderName]:
    """Return the providers that the agent answers for, sorted by name."""
    query = Provider.select(Provider.id, Provider.name)
    if agent.providers is not None:
        query = query.where(_one_of(Provider.id, agent.providers))
    async with snapshot():
        rows = await query.order_by(Provider.name).limit(MOST_PROVIDERS)
    return [ProviderName(id=row["id"], name=row["name"]) for row in rows]


async def overview(agent: SignedIn, wanted: Filter = EVERYTHING, before: Place | None = None) -> Listed:
    """Return the newest of the agent's conversations that match `wanted`, below the position `before`."""
    query = _matching(agent, wanted)
    if before is not None:
        below = Or(Conversation.last_at < before.last_at, Conversation.id < before.id)
        query = query.where(Conversation.last_at <= before.last_at, below)
    async with snapshot():
        rows = await query.order_by(Conversation.last_at, Conversation.id, ascending=False).limit(PAGE + 1)
        shown = rows[:PAGE]
        last = await _last_messages({row["id"]: row["last_seq"] for row in shown})
        calls = await _open_calls([row["id"] for row in shown]) if shown else {}
    items = [_summary(row, last.get(row["id"]), calls.get(row["id"])) for row in shown]
    return Listed(items=items, more=len(rows) > PAGE)


async def thread(agent: SignedIn, conversation: UUID, before: int | None = None) -> Thread:
    """Return a conversation's newest messages. If `before` is set, return only messages with lower numbers.

    Raises `Refused(not_found)` if the agent may not see the conversation.
    """
    async with snapshot():
        columns = (Conversation.provider, Conversation.last_seq)
        found = await Conversation.select(*columns).where(Conversation.id == conversation).first()
        if found is None or not agent.answers_for(found["provider"]):
            raise conversations.unknown()
        messages, more = await conversations.page(Begun(conversation, found["last_seq"]), before, ENTRIES)
    return Thread(messages=messages, more=more)


def _matching(agent: SignedIn, wanted: Filter) -> Select[Conversation]:
    customer = Conversation.customer._
    query = Conversation.select(
        Conversation.id,
        Conversation.provider,
        Conversation.login,
        Conversation.uid,
        Conversation.last_seq,
        Conversation.last_at,
        customer.name.as_alias("name"),
        customer.email.as_alias("email"),
        customer.auth_provider.as_alias("auth_provider"),
    )
    if agent.providers is not None:
        query = query.where(_one_of(Conversation.provider, agent.providers))
    if wanted.provider is not None:
        query = query.where(Conversation.provider == wanted.provider)
    if wanted.members:  # this and the next repeat their indexes' conditions word for word, so that SQLite uses them
        query = query.where(WhereRaw("conversation.login <> 'visitor'"))
    if wanted.waiting:
        query = query.where(WhereRaw("conversation.waiting"))
    if wanted.mine:
        query = query.where(Conversation.answered_by == agent.name)
    if wanted.query:
        pattern = containing(wanted.query)
        query = query.where(WhereRaw(FOUND, pattern, pattern))
    return query


def _one_of(column: Varchar, providers: Collection[str]) -> Where:
    return column.is_in([*providers] or [""])  # Piccolo rejects an empty list, and no id is empty


async def _last_messages(last_seqs: Mapping[UUID, int]) -> dict[UUID, Entry]:
    said = {id_: seq for id_, seq in last_seqs.items() if seq}
    rows = await _messages(said) if said else []
    return {row.pop("conversation"): entries.entry_of(row) for row in rows}


def _messages(seqs: Mapping[UUID, int]) -> Select[Message]:
    # Each message is selected by its whole key: for a join, PostgreSQL would read all messages of these conversations.
    keys: list[And | Or] = [And(Message.conversation == id_, Message.seq == seq) for id_, seq in seqs.items()]
    return Message.select(Message.conversation, *entries.ENTRY).where(reduce(Or, keys))


async def _open_calls(ids: list[UUID]) -> dict[UUID, CallSummary]:
    rows = await Call.select(Call.conversation, Call.id, Call.state).where(
        Call.conversation.is_in(ids), Call.state != "ended"
    )
    return {row["conversation"]: CallSummary(call_id=str(row["id"]), state=row["state"]) for row in rows}


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
