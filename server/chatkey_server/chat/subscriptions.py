"""Which channels of a shared Redis this process listens to: those that somebody in it wants, and no other."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatkey_server.chat.seal import Seal

AT_ONCE: Final = 1000
"""Names in one command, so that nobody waits long for Redis."""


class Changes(NamedTuple):
    """The names to listen to no longer, and those to listen to from now on, a few at a time."""

    leave: list[list[str]]
    join: list[list[str]]


class Subscriptions:
    """Keeps what is wanted apart from what was asked of Redis, and that from what Redis has confirmed.

    Between the wish and the confirmation something may be said that this process does not hear, so `confirm` reports
    the channel once for each wish. A channel that is wanted and left before Redis was asked costs nothing.
    """

    def __init__(self, seal: Seal) -> None:
        self.is_due = asyncio.Event()
        self._seal = seal
        self._wanted: set[str] = set()
        self._changed: set[str] = set()
        self._asked: set[str] = set()
        self._heard: set[str] = set()
        self._unconfirmed: Counter[str] = Counter()
        self._channels: dict[str, str] = {}
        self._awaited: set[str] = set()

    def want(self, channel: str) -> None:
        """Listen to a channel, as soon as may be."""
        self._wanted.add(channel)
        if channel not in self._heard:
            self._awaited.add(channel)
        self._note(channel)

    def leave(self, channel: str) -> None:
        """Listen to a channel no longer."""
        self._wanted.discard(channel)
        self._awaited.discard(channel)
        self._note(channel)

    def begin(self) -> None:
        """Begin with a connection that listens to nothing yet."""
        self.lose()
        for asked in (self._asked, self._unconfirmed, self._channels):
            asked.clear()
        self._changed = set(self._wanted)

    def lose(self) -> None:
        """Take nothing for heard: the connection is lost."""
        self._heard.clear()

    def changes(self) -> Changes:
        """Take what is to be asked of Redis now."""
        changed, self._changed = self._changed, set()
        self.is_due.clear()
        leaving = (changed & self._asked) - self._wanted
        joining = (changed & self._wanted) - self._asked
        self._asked = self._asked - leaving | joining
        self._heard -= leaving
        self._unconfirmed.update(joining)
        # Redis confirms in order: with the last of its names a channel is heard.
        self._channels.update({self._seal.names(channel)[-1]: channel for channel in joining})
        return Changes(self._names(leaving), self._names(joining))

    def confirm(self, name: str) -> str | None:
        """Take note that Redis listens for a name; return the channel if it was wanted and not heard before."""
        channel = self._channels.get(name)
        if channel is None:
            return None
        self._unconfirmed[channel] -= 1
        if self._unconfirmed[channel] > 0:  # of a time before it was left and wanted again
            return None
        del self._unconfirmed[channel]
        del self._channels[name]
        if channel not in self._asked:
            return None
        self._heard.add(channel)
        if channel not in self._awaited:
            return None
        self._awaited.remove(channel)
        return channel

    def _note(self, channel: str) -> None:
        self._changed.add(channel)
        self.is_due.set()

    def _names(self, channels: Iterable[str]) -> list[list[str]]:
        names = [name for channel in channels for name in self._seal.names(channel)]
        return [names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE)]
