"""Keeps the newest log events, with numbers. Tests can read the events or wait for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chatkey_server.clock import Now

MOST_EVENTS: Final = 2000
LONGEST_WAIT: Final = 30.0


class Event(msgspec.Struct, frozen=True):
    """A log event: its number, the server's time, its name, and its facts without secrets."""

    n: int
    at: float
    kind: str
    facts: dict[str, Any]


class Feed:
    """Keeps the newest `MOST_EVENTS` events."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self._waiting: set[asyncio.Future[None]] = set()
        self.last = 0

    def record(self, event: Mapping[str, Any]) -> None:
        """Store an event from the log's processors. Callable from any thread."""
        facts = {name: value for name, value in event.items() if name not in {"event", "timestamp"}}
        self.last += 1
        self._events.append(Event(self.last, self._now(), event["event"], facts))
        for waiting in tuple(self._waiting):
            waiting.get_loop().call_soon_threadsafe(_finish, waiting)

    def after(self, number: int, kind: str | None = None) -> list[Event]:
        """Return the events numbered above `number`, optionally of one kind (`socket.ready`) or family (`socket.`)."""
        return [event for event in self._events if event.n > number and _is_kind(event.kind, kind)]

    async def wait(self, number: int, kind: str | None, seconds: float) -> list[Event]:
        """Wait until `after(number, kind)` has a result, at most `seconds` of real time, and return it."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(seconds, LONGEST_WAIT)
        while not (found := self.after(number, kind)) and (left := deadline - loop.time()) > 0:
            recorded: asyncio.Future[None] = loop.create_future()
            self._waiting.add(recorded)
            try:
                await asyncio.wait([recorded], timeout=left)
            finally:
                self._waiting.discard(recorded)
        return found

    def clear(self) -> None:
        """Remove all events. The numbers continue, so that a reader's `after` stays valid."""
        self._events.clear()


def _is_kind(kind: str, wanted: str | None) -> bool:
    return not wanted or kind == wanted or (wanted.endswith(".") and kind.startswith(wanted))


def _finish(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
