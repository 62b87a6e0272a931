"""What a process may not have heard, read from the database and told to those of its own sockets whom it concerns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import structlog

from chatkey_protocol.frames import MessageEvent
from chatkey_server.chat.calls import event_of
from chatkey_server.chat.entries import entry_of
from chatkey_server.chat.events import (
    AGENT_SESSIONS,
    ALL_PAGES,
    PROVIDERS,
    customer_channel,
    customer_on,
    encoded,
    is_for_agents,
)
from chatkey_server.chat.hub import MISSED, missed_seconds
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.engine import snapshot
from chatkey_server.storage.tables import Call, Message

if TYPE_CHECKING:
    from chatkey_server.chat.hub import Hub
    from chatkey_server.clock import Now

MARGIN_SECONDS: Final = 10
"""How much further back one looks: clocks of hosts differ, and what is stored is told a moment later."""
GATHER_SECONDS: Final = 0.1
"""How long one waits for the others: after an outage of Redis every process tells that it was away."""
AGAIN_SECONDS: Final = 1.0
"""After how long one looks again when the database is away, too."""
MOST: Final = 1000
"""Messages of one conversation that are told; whoever lacks more finds the gap in `seq`."""

PEOPLE_AT_ONCE: Final = 200
"""People whose conversations one query asks for."""

SAID: Final = """
    SELECT message.message_id AS id, message.seq, message.sender, message.name, message.body, message.sent_at,
        conversation.provider, conversation.login, conversation.uid
    FROM conversation JOIN message ON message.conversation = conversation.id
    WHERE conversation.last_at >= {} AND message.sent_at >= {} AND message.seq > conversation.last_seq - {} %s
    ORDER BY message.seq
"""
"""What was said, by the indexes on `last_at` and on (`conversation`, `seq`)."""

CALLED: Final = """
    SELECT call.id, call.state, conversation.provider, conversation.login, conversation.uid
    FROM conversation JOIN call ON call.conversation = conversation.id
    WHERE (call.started_at >= {} OR call.answered_at >= {} OR call.ended_at >= {}) %s
    ORDER BY call.started_at
"""
"""The calls that changed, the oldest first: what a later one says counts."""

OF_PEOPLE: Final = "AND (conversation.provider, conversation.login, conversation.uid) IN (VALUES %s)"
"""Of these people only, by the index that a conversation is found by."""

LOOK_AGAIN: Final = encoded({"type": "missed"})

log = structlog.get_logger("chatkey.hub")


class CatchUp:
    """Looks into the database when the hub says that something may have been missed, by all or on one channel.

    Messages and calls go to the sockets of the person, which drop what they know (`seq`). Agents' pages are told to
    look for themselves: they show a few conversations out of many.
    """

    def __init__(self, hub: Hub, *, now: Now) -> None:
        self._hub = hub
        self._now = now
        self._since: float | None = None
        self._people: dict[str, float] = {}
        self._looking: asyncio.Task[None] | None = None
        hub.add(MISSED, self._missed)
        hub.on_join(self._joined)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look while the context lasts, and be done with it at the end: the database is closed next."""
        try:
            yield
        finally:
            if self._looking is not None:
                self._looking.cancel()
                await asyncio.wait([self._looking])

    def _missed(self, payload: bytes) -> None:
        self._look_back(self._now() - missed_seconds(payload) - MARGIN_SECONDS)
        self._look_soon()

    def _joined(self, channel: str, seconds: float) -> None:
        """Make good what others said on a channel before it was heard here."""
        if customer_on(channel):
            self._people.setdefault(channel, self._now() - seconds - MARGIN_SECONDS)
            self._look_soon()
        elif is_for_agents(channel):
            self._hub.tell_here(channel, LOOK_AGAIN)
        elif channel in {AGENT_SESSIONS, PROVIDERS}:
            self._hub.tell_here(channel, b"")  # whichever it may have been

    def _look_soon(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    def _look_back(self, since: float) -> None:
        self._since = since if self._since is None else min(since, self._since)

    async def _look(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        while self._since is not None or self._people:
            since, self._since = self._since, None
            people, self._people = self._people, {}
            try:
                if since is not None:
                    await self._tell_all(int(since))
                if people:
                    await self._tell_people(people)
            except Refused as refused:
                log.info("hub.catching_up", code=refused.code)
                self._again(since, people)
                await asyncio.sleep(AGAIN_SECONDS)
            except Exception:
                log.exception("hub.caught_up_not")

    def _again(self, since: float | None, people: dict[str, float]) -> None:
        if since is not None:
            self._look_back(since)
        self._people = {**self._people, **people}

    async def _tell_all(self, since: int) -> None:
        self._hub.tell_here(ALL_PAGES, LOOK_AGAIN)
        self._hub.tell_here(AGENT_SESSIONS, b"")
        await self._tell(since)

    async def _tell_people(self, people: dict[str, float]) -> None:
        since = int(min(people.values()))
        channels = [channel for channel in people if self._hub.has_listeners(channel)]
        for start in range(0, len(channels), PEOPLE_AT_ONCE):
            whose = filter(None, map(customer_on, channels[start : start + PEOPLE_AT_ONCE]))
            await self._tell(since, list(whose))

    async def _tell(self, since: int, people: Sequence[tuple[str, str, str]] = ()) -> None:
        """Tell what was said since, and what became of calls, by all or by these people."""
        only = OF_PEOPLE % ", ".join(["({}, {}, {})"] * len(people)) if people else ""
        who = list(chain.from_iterable(people))
        async with snapshot():
            messages = await Message.raw(SAID % only, since * 1000, since, MOST, *who)
            changes = await Call.raw(CALLED % only, since, since, since, *who)
        for row in messages:
            channel = _taken_channel(row)
            self._hub.tell_here(channel, encoded(MessageEvent(type="message", **entry_of(row)), seq=row["seq"]))
        for row in changes:
            self._hub.tell_here(_taken_channel(row), encoded(event_of(row["id"], row["state"])))


def _taken_channel(row: dict[str, Any]) -> str:
    """Take out of a row whose conversation it is of, and return the channel of their sockets."""
    return customer_channel(row.pop("provider"), row.pop("login"), row.pop("uid"))
