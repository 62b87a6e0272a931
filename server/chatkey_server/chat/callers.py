"""The calls that began in this process: each until it is over, whoever ends it and in whatever process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chatkey_server.chat.events import read_event

if TYPE_CHECKING:
    from chatkey_server.chat.hub import Hub, Listener


class Callers:
    """Who has a call that began here, by the person's channel, and which it is; the hub tells of its end."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._calls: dict[str, _Kept] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def began(self, channel: str, call_id: str) -> None:
        """Keep a person's call until its end, instead of an earlier one."""
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
        """Forget a person's call and return its id; None when there is none."""
        kept = self._calls.pop(channel, None)
        if kept is None:
            return None
        self._hub.remove(channel, kept.hear)
        return kept.call_id


class _Kept(NamedTuple):
    call_id: str
    hear: Listener
