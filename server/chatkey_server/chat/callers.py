"""Remembers each call that was started in this process, until that call ends. Any process may end a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chatkey_server.chat.events import read_event

if TYPE_CHECKING:
    from chatkey_server.chat.hub import Hub, Listener


class Callers:
    """Stores the calls that were started in this process, by the caller's channel. The hub reports when a call ends."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._calls: dict[str, _Kept] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def began(self, channel: str, call_id: str) -> None:
        """Remember a person's call until the call ends. Replaces an earlier call of the same person."""
        kept = self._calls.get(channel)
        if kept is not None and kept.call_id == call_id:
            return
        self.take(channel)

        def hear(payload: bytes) -> None:
            if read_event(payload).call == (call_id, "ended"):
                self.take(channel)

        self._calls[channel] = _Kept(call_id, hear)
        self._hub.add(channel, hear)

    def take(self, channel: str) -> str | None:
        """Forget a person's call and return its id, or None if there is no call."""
        kept = self._calls.pop(channel, None)
        if kept is None:
            return None
        self._hub.remove(channel, kept.hear)
        return kept.call_id


class _Kept(NamedTuple):
    call_id: str
    hear: Listener
