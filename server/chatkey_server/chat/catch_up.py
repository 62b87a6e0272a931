"""Reads missed messages from the database, and sends each message to the sockets that lack it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import structlog

from chatkey_protocol.frames import CallEvent, Entry
from chatkey_server.chat import standing
from chatkey_server.chat.events import (
    AGENT_SESSIONS,
    ALL_PAGES,
    PROVIDERS,
    call_told,
    customer_channel,
    customer_on,
    encoded,
    is_for_agents,
    message_told,
)
from chatkey_server.chat.hub import MISSED
from chatkey_server.chat.standing import AT_ONCE, NOTHING, Person, Standing
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.engine import snapshot

if TYPE_CHECKING:
    from chatkey_server.chat.hub import Hub
    from chatkey_server.clock import Now
    from chatkey_server.peers.seen import Seen

GATHER_SECONDS: Final = 0.1
"""How long to wait before reading: after an outage of Redis, every process reports that it was away."""
AGAIN_SECONDS: Final = 1.0
"""When to try again if the database is away too."""
MOST: Final = 1000
"""At most this many messages of one conversation are sent. A client that lacks more finds the gap in `seq`."""
RECENT: Final = 50
"""How many of the newest messages are considered for a socket that has not asked for its history."""
MARGIN_SECONDS: Final = 10
"""Such a socket also gets messages that are older than the socket by up to this time, because hosts' clocks differ."""

LOOK_AGAIN: Final = encoded({"type": "missed"})

log = structlog.get_logger("chatkey.hub")


class CatchUp:
    """Reads the database when the hub reports that messages may have been missed, on one channel or on all channels.

    Each socket has a floor: the socket needs only messages with higher numbers. New messages from the database are sent
    to all sockets of the person, and a socket drops the messages that it already has. Only message numbers are
    compared. Therefore this works after outages of any length, even if clocks differ. The numbers decrease only if the
    person was erased; then the sockets that were sent a higher number are closed. Agents' pages show only a part of the
    conversations, so the pages are told to load their lists again.
    """

    def __init__(self, hub: Hub, *, now: Now) -> None:
        self._hub = hub
        self._now = now
        self._followers: dict[Person, dict[Seen, Callable[[], None]]] = {}
        self._due: dict[Person, float] = {}
        """The people whose conversations must be read, and since when."""
        self._pages_are_due = False
        self._looking: asyncio.Task[None] | None = None
        hub.add(MISSED, self._missed)
        hub.on_join(self._joined)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run while the context lasts. Before the context ends, stop any read, because the database is closed next."""
        try:
            yield
        finally:
            if self._looking is not None:
                self._looking.cancel()
                await asyncio.wait([self._looking])

    def follow(self, person: Person, seen: Seen, on_erased: Callable[[], None]) -> None:
        """Keep a new socket of this person up to date until `leave` is called.

        `on_erased` is called if messages that were sent to the socket have been erased.
        """
        self._followers.setdefault(person, {})[seen] = on_erased
        if not self._hub.is_alone:
            self._look_at(person)

    def leave(self, person: Person, seen: Seen) -> None:
        followers = self._followers[person]
        del followers[seen]
        if not followers:
            del self._followers[person]

    def _missed(self, _: bytes) -> None:
        self._pages_are_due = True
        for person in self._followers:
            self._due.setdefault(person, self._now())
        self._look_soon()

    def _joined(self, channel: str) -> None:
        """Catch up on a channel, because messages may have been published on it before this process subscribed."""
        if person := customer_on(channel):
            self._look_at(person)
        elif is_for_agents(channel):
            self._hub.tell_here(channel, LOOK_AGAIN)
        elif channel in {AGENT_SESSIONS, PROVIDERS}:
            self._hub.tell_here(channel, b"")  # any session or provider may have changed

    def _look_at(self, person: Person) -> None:
        self._due.setdefault(person, self._now())
        self._look_soon()

    def _look_soon(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        while self._due or self._pages_are_due:
            due, self._due = self._due, {}
            try:
                await self._look_once(due)
            except Refused as refused:
                log.info("hub.catching_up", code=refused.code)
                self._due = {**self._due, **due}
                await asyncio.sleep(AGAIN_SECONDS)
            except Exception:
                log.exception("hub.caught_up_not")

    async def _look_once(self, due: Mapping[Person, float]) -> None:
        people = [person for person in due if person in self._followers]
        for start in range(0, len(people), AT_ONCE):
            await self._catch_up({person: due[person] for person in people[start : start + AT_ONCE]})
        if self._pages_are_due:
            self._pages_are_due = False
            self._hub.tell_here(ALL_PAGES, LOOK_AGAIN)
            self._hub.tell_here(AGENT_SESSIONS, b"")

    async def _catch_up(self, due: Mapping[Person, float]) -> None:
        """Send the messages that the sockets of these people lack. If no message is missing, this takes one query."""
        on_before = {person: self._open_calls(person) for person in due}
        sent_before = {person: {seen: seen.highest for seen in self._followers.get(person, ())} for person in due}
        async with snapshot():
            found = await standing.standings([*due])
            wanted = [(person, seq) for person in found for seq in self._lacking(person, found[person], due[person])]
            messages = await standing.numbered(wanted)
        self._tell_messages(messages, due)
        for person in due:
            stands = found.get(person, NOTHING)
            self._end_erased(person, sent_before[person], stands.last_seq)
            self._tell_calls(person, stands.call, on_before[person])
            for seen in self._followers.get(person, ()):
                seen.settle(stands.last_seq)

    def _open_calls(self, person: Person) -> set[str]:
        return {call_id for seen in self._followers.get(person, ()) for call_id in seen.open_calls()}

    def _end_erased(self, person: Person, sent: Mapping[Seen, int], last_seq: int) -> None:
        """Report the erasure to the sockets that were sent a message with a higher number than the last one."""
        followers = self._followers.get(person, {})
        for seen, on_erased in [*followers.items()]:
            if sent.get(seen, 0) > last_seq:
                on_erased()

    def _lacking(self, person: Person, stands: Standing, since: float) -> range:
        """Return the numbers of the messages that at least one socket of this person may lack."""
        floors = {seen.floor for seen in self._followers.get(person, ())}
        lowest = min((floor for floor in floors if floor is not None), default=stands.last_seq)
        if None in floors and stands.last_at >= (since - MARGIN_SECONDS) * 1000:
            lowest = min(lowest, stands.last_seq - RECENT)
        return range(max(lowest, stands.last_seq - MOST, 0) + 1, stands.last_seq + 1)

    def _tell_messages(self, messages: Sequence[tuple[Person, Entry]], due: Mapping[Person, float]) -> None:
        for person, entry in messages:
            if any(_lacks(seen, entry, due[person]) for seen in self._followers.get(person, ())):
                self._hub.tell_here(customer_channel(*person), message_told(entry))

    def _tell_calls(self, person: Person, call: CallEvent | None, on_before: set[str]) -> None:
        """Report the call in progress, and the end of each call in `on_before` that is no longer in progress."""
        for ended in on_before - ({call["call_id"]} if call else set()):
            self._tell_call(person, CallEvent(type="call", call_id=ended, state="ended"))
        if call is not None:
            self._tell_call(person, call)

    def _tell_call(self, person: Person, call: CallEvent) -> None:
        if not all(seen.knows_call(call["call_id"], call["state"]) for seen in self._followers.get(person, ())):
            self._hub.tell_here(customer_channel(*person), call_told(call))


def _lacks(seen: Seen, entry: Entry, since: float) -> bool:
    if seen.floor is None:
        return entry["sent_at"] >= int(since) - MARGIN_SECONDS
    return entry["seq"] > seen.floor
