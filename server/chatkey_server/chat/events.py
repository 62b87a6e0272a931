"""What the hub carries: a frame for a person's sockets or for the agents, and who caused it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from chatkey_protocol.frames import CallEvent, Entry, MessageEvent

AGENTS: Final = "agents"
"""The hub's channel on which agents of all businesses listen; those of some listen to `agents_channel` of each."""

ALL_PAGES: Final = "pages"
"""The hub's channel on which every agent's page of this process listens."""

AGENT_SESSIONS: Final = "sessions"
"""The hub's channel on which it is told that the session of some agent may have ended or changed."""

PROVIDERS: Final = "providers"
"""The hub's channel on which processes are told the id of a provider that was changed; an empty one means all."""

_encode: Final = msgspec.json.Encoder().encode


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One frame to pass on, except to the socket whose id is `source`: that one has its answer already.

    If the frame is a message, `seq` is its number. If it is about a call, `call` is the call's id and state. `ends`
    closes the person's sockets instead.
    """

    frame: msgspec.Raw
    source: str = ""
    seq: int = 0
    call: tuple[str, str] | None = None
    ends: bool = False


read_event: Final = msgspec.json.Decoder(Event).decode

ENDED: Final = _encode(Event(msgspec.Raw(b"{}"), ends=True))
"""The event that closes all sockets of a person whose data was erased."""


def agents_channel(provider: str) -> str:
    """Return the hub's channel of the agents who answer for this business and not for all."""
    return f"{AGENTS}:{provider}"


def is_for_agents(channel: str) -> bool:
    """Tell whether what is published on a channel is for agents' pages."""
    return channel.partition(":")[0] == AGENTS


def customer_channel(provider: str, login: str, uid: str) -> str:
    """Return the hub's channel of one person's sockets; only the last part may hold a colon."""
    return f"customer:{provider}:{login}:{uid}"


def customer_on(channel: str) -> tuple[str, str, str] | None:
    """Return provider, login and uid of the person whose channel this is; None for another channel."""
    kind, _, rest = channel.partition(":")
    provider, login, uid = rest.split(":", 2) if kind == "customer" else ("", "", "")
    return (provider, login, uid) if provider else None


def encoded(frame: Mapping[str, object], source: str = "") -> bytes:
    """Write a frame to pass on as the hub carries it."""
    return _encode(Event(msgspec.Raw(_encode(frame)), source))


def message_told(entry: Entry, source: str = "") -> bytes:
    """Write what the hub carries to a person's sockets of a message."""
    frame = _encode(MessageEvent(type="message", **entry))
    return _encode(Event(msgspec.Raw(frame), source, seq=entry["seq"]))


def call_told(event: CallEvent, source: str = "") -> bytes:
    """Write what the hub carries to a person's sockets of a call."""
    return _encode(Event(msgspec.Raw(_encode(event)), source, call=(event["call_id"], event["state"])))
