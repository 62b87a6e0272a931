"""Keeps track of the channels on a shared Redis to which this process subscribes."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatkey_server.chat.seal import Seal

AT_ONCE: Final = 1000
"""The most names in one command, so that other clients do not wait long for Redis."""


class Changes(NamedTuple):
    """The names to unsubscribe from and the names to subscribe to, in batches."""

    leave: list[list[str]]
    join: list[list[str]]


class Subscriptions:
    """Keeps three sets of channels: wanted by this process, requested from Redis, and confirmed by Redis.

    This process may miss messages that are published between the request and the confirmation. Therefore `confirm`
    returns a channel once for each time that the channel was wanted. A channel that is wanted and left before the
    request costs nothing.
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

    def __len__(self) -> int:
        """Return the number of wanted channels."""
        return len(self._wanted)

    def want(self, channel: str) -> None:
        self._wanted.add(channel)
        if channel not in self._heard:
            self._awaited.add(channel)
        self._note(channel)

    def leave(self, channel: str) -> None:
        self._wanted.discard(channel)
        self._awaited.discard(channel)
        self._note(channel)

    def begin(self) -> None:
        """Start over with a new connection, which has no subscriptions."""
        self.lose()
        for asked in (self._asked, self._unconfirmed, self._channels):
            asked.clear()
        self._changed = set(self._wanted)

    def lose(self) -> None:
        """Treat no channel as confirmed, because the connection is lost."""
        self._heard.clear()

    def changes(self) -> Changes:
        """Return the changes to request from Redis now."""
        changed, self._changed = self._changed, set()
        self.is_due.clear()
        leaving = (changed & self._asked) - self._wanted
        joining = (changed & self._wanted) - self._asked
        self._asked = self._asked - leaving | joining
        self._heard -= leaving
        self._unconfirmed.update(joining)
        # Redis confirms in order: once the last of a channel's names is confirmed, the channel is subscribed.
        self._channels.update({self._seal.names(channel)[-1]: channel for channel in joining})
        return Changes(self._names(leaving), self._names(joining))

    def confirm(self, name: str) -> str | None:
        """Record that Redis confirmed a name. Returns the channel if it was wanted and not confirmed before."""
        channel = self._channels.get(name)
        if channel is None:
            return None
        self._unconfirmed[channel] -= 1
        if self._unconfirmed[channel] > 0:  # an earlier request, before the channel was left and wanted again
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
