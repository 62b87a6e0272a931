"""What the hub carries: a frame for a person's sockets or for the agents, who caused it and whose business it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from chatkey_server.chat.hub import Hub

AGENTS: Final = "agents"
"""The hub's channel on which all agents of the service listen; each passes over what is of a business not theirs."""

AGENT_SESSIONS: Final = "agents:sessions"
"""The hub's channel on which it is told that the session of some agent may have ended or changed."""

_encode: Final = msgspec.json.Encoder().encode


class Event(msgspec.Struct, frozen=True):
    """One frame to pass on, except to the socket whose id is `source`: that one has its answer already.

    `provider` is the business that a frame for the agents is of.
    """

    frame: msgspec.Raw
    source: str = ""
    provider: str = ""


read_event: Final = msgspec.json.Decoder(Event).decode


def customer_channel(provider: str, login: str, uid: str) -> str:
    """Return the hub's channel of one person's sockets; only the last part may hold a colon."""
    return f"customer:{provider}:{login}:{uid}"


def publish(hub: Hub, channel: str, frame: Mapping[str, object], source: str = "", *, provider: str = "") -> None:
    """Send a frame to everyone on the channel but its source."""
    hub.publish(channel, _encode(Event(msgspec.Raw(_encode(frame)), source, provider)))
