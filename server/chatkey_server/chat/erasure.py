"""Erases one person: counts and deletes the stored data, and lists the copies that remain."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from piccolo.columns.combination import And
from piccolo.custom_types import Combinable

from chatkey_server.chat.hub import MISSED
from chatkey_server.storage.engine import SQLite, bound, snapshot, transaction
from chatkey_server.storage.providers import unknown
from chatkey_server.storage.tables import Call, ChatCustomer, Conversation, Message, Provider

Login = Literal["visitor", "custom", "social"]

NEWS: Final = (MISSED, b"")
"""Publish this after erasing. Each process then compares the database with what its sockets were sent: sockets of a
person whose conversation is gone are closed, and agents' pages load their lists again.
"""

REMAINS: Final = (
    "Backups of the database contain this person until you delete them. After a restore, erase the person again.",
    "Log lines contain the uid and the client's address until your log rotation deletes them.",
    (
        "Tokens that were issued earlier stay valid until their `exp`: at most 2 minutes for a visitor, 2 "
        "hours for a custom login, and 24 hours for a social login. With such a token the person can connect "
        "again, and their next message creates a new record. End their session at the business first."
    ),
    (
        "The person's browser keeps its key pair and the last token until they log out or delete the site's data. An "
        "open page shows the old messages until it is reloaded."
    ),
    (
        "Rate-limit counters stay in the servers' memory under the uid until a restart, and in Redis under "
        "hashed names until they expire within hours."
    ),
    (
        "The same human may also have written as a visitor, with another login, or to another business. Each "
        "of these is stored as a separate person: erase each one."
    ),
    "Other people's messages may mention this person. The business and the social provider have their own records.",
)
"""Data that erasing does not reach, with either database."""

ON_DISK: Final = {
    "postgres": "PostgreSQL keeps deleted rows on disk until the next vacuum. PostgreSQL vacuums automatically; to "
    "vacuum now, run `VACUUM chat_customer, conversation, message, call`. The write-ahead log and its archive "
    "contain the rows until they are recycled.",
    "sqlite": "SQLite keeps deleted text in free pages and in the search index until it is overwritten. To "
    "overwrite it now, stop the server and run this SQL on the file: `INSERT INTO "
    "message_search(message_search) VALUES('optimize'); VACUUM;`.",
}
"""Data that remains on disk after erasing, by database."""


class Person(NamedTuple):
    """The person to erase. For a visitor, `login` is `visitor` and `uid` is the visitor's uid."""

    provider: str
    login: Login
    uid: str


class Stored(NamedTuple):
    """The numbers of records, conversations, messages and calls that are stored about a person."""

    records: int
    conversations: int
    messages: int
    calls: int

    def __str__(self) -> str:
        parts = (_counted(number, name.removesuffix("s")) for name, number in self._asdict().items())
        return ", ".join(parts)


async def stored(person: Person) -> Stored:
    """Count the stored data of a person. Raises `Refused(provider_unknown)`."""
    async with snapshot():
        if not await Provider.exists().where(Provider.id == person.provider):
            raise unknown(person.provider)
        conversations = (
            await Conversation.select(Conversation.id).where(_owned_by(Conversation, person)).output(as_list=True)
        )
        return Stored(
            records=await ChatCustomer.count().where(_owned_by(ChatCustomer, person)),
            conversations=len(conversations),
            messages=sum([await Message.count().where(Message.conversation == one) for one in conversations]),
            calls=sum([await Call.count().where(Call.conversation == one) for one in conversations]),
        )


async def erase(person: Person) -> Stored:
    """Delete a person's record, conversation, messages and calls in one transaction. Returns how many were deleted.

    The caller must then publish `NEWS`. Raises `Refused(provider_unknown)`.
    """
    async with transaction(within=None):  # a long conversation takes seconds; all of it is deleted, or nothing
        erased = await stored(person)
        await Conversation.delete().where(_owned_by(Conversation, person))  # deletes its messages and calls too
        await ChatCustomer.delete().where(_owned_by(ChatCustomer, person))
    return erased


def remains() -> list[str]:
    """Return sentences that say which copies of the data are not erased, and why."""
    kind = "sqlite" if isinstance(bound(), SQLite) else "postgres"
    return [*REMAINS, ON_DISK[kind]]


def _owned_by(table: type[Conversation | ChatCustomer], person: Person) -> Combinable:
    return And(
        And(table.provider == person.provider, table.login == person.login),
        table.uid == person.uid,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
