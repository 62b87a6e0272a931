"""Carries signals between the two sockets of an active call, which may be in different processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from chatkey_server.chat.hub import Hub

Side = Literal["caller", "agent"]
Action = Literal["ask", "offer", "answer", "candidate"]
_OTHER: Final[dict[Side, Side]] = {"caller": "agent", "agent": "caller"}


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """A signal on its way from one side of a call to the other, with what the server has found out about it.

    `replaces` means that a newer socket has taken over the side that receives this. `here` means that the other side
    has a new socket, or that its process now receives signals from other processes. `jkt` is the key that has signed
    the caller's answer.
    """

    action: Literal["ask", "offer", "answer", "candidate", "replaces", "here"]
    source: str = ""
    sdp: str = ""
    nonce: str = ""
    fingerprint: str = ""
    candidate: str = ""
    jkt: str = ""


_encode: Final = msgspec.json.Encoder().encode
_read: Final = msgspec.json.Decoder(Said).decode


def announce_joins(hub: Hub) -> None:
    """Notify the other side of a call as soon as this process receives the call's signals from other processes."""

    def joined(channel: str) -> None:
        kind, _, rest = channel.partition(":")
        call_id, _, side = rest.partition(":")
        if kind == "call":
            hub.publish(f"call:{call_id}:{'caller' if side == 'agent' else 'agent'}", _encode(Said("here")))

    hub.on_join(joined)


class Line:
    """One socket's end of a call. It receives what the other side says, until it is closed or replaced.

    A newer socket of the same side replaces it.
    """

    def __init__(self, hub: Hub, call_id: str, side: Side, source: str, hear: Callable[[Said], None]) -> None:
        self.call_id = call_id
        self._hub = hub
        self._side: Side = side
        self._source = source
        self._hear = hear
        self.is_open = True
        hub.publish(self._channel(side), _encode(Said("replaces", source)))
        hub.add(self._channel(side), self._heard)

    def say(self, said: Said) -> None:
        """Send a signal to the other side of the call, and to nobody else."""
        self._hub.publish(self._channel(_OTHER[self._side]), _encode(said))

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._hub.remove(self._channel(self._side), self._heard)

    def _heard(self, payload: bytes) -> None:
        said = _read(payload)
        if said.action == "replaces":
            if said.source != self._source:
                self.close()
        elif self.is_open:
            self._hear(said)

    def _channel(self, side: Side) -> str:
        return f"call:{self.call_id}:{side}"
