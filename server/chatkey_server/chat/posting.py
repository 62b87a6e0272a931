"""Stores a person's message, on PostgreSQL in one round trip if the conversation is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatkey_server.chat import conversations, search
from chatkey_server.chat.conversations import Appended, Draft, Locked
from chatkey_server.chat.customers import customer_of, told
from chatkey_server.storage.engine import transaction

if TYPE_CHECKING:
    from chatkey_server.identity.tokens import SocketIdentity

MOST_KNOWN: Final = 10_000
"""How many conversations of people are kept in memory."""


class Posting:
    """Remembers the conversation of each person who has written. If it has changed, only time is lost."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Locked] = {}

    async def post(
        self, identity: SocketIdentity, name: str | None, draft: Draft, now: float
    ) -> tuple[Locked, Appended]:
        """Store the message, and return it with its conversation. `name` is the name in the widget's `headers`."""
        person = (identity.pid, identity.login, identity.uid)
        known = self._known.get(person)
        if known is not None:
            appended = await conversations.post(known.id, told(identity, name), draft, now)
            if appended is not None:
                return known, appended
        async with transaction():
            own = await own_conversation(identity, name, now)
            appended = await conversations.append(own, draft, now)
        if search.engine() == "postgres":
            self._keep(person, own)
        return own, appended

    def _keep(self, person: tuple[str, str, str], own: Locked) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[person] = own


async def own_conversation(identity: SocketIdentity, name: str | None, now: float) -> Locked:
    """Lock the person's conversation; create it if there is none. Call only inside a transaction."""
    return await conversations.lock_own(identity, await customer_of(identity, name, now), now)
