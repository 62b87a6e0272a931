"""Defines the hub's events. An event is a frame for a person's sockets or for agents, and names its source socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from chatkey_protocol.frames import CallEvent, Entry, MessageEvent

AGENTS: Final = "agents"
"""The hub's channel for agents who answer for all businesses. The other agents listen to the `agents_channel` of each
of their businesses.
"""

ALL_PAGES: Final = "pages"
"""The hub's channel to which every agent's page in this process listens."""

AGENT_SESSIONS: Final = "sessions"
"""The hub's channel that reports that an agent's session may have ended or changed."""

PROVIDERS: Final = "providers"
"""The hub's channel that carries the id of a provider that was changed. An empty id means all providers."""

_encode: Final = msgspec.json.Encoder().encode


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """A frame for every socket except `source`, which has already received an answer.

    If the frame is a message, `seq` is the number of the message. If the frame is about a call, `call` is the call's id
    and state.
    """

    frame: msgspec.Raw
    source: str = ""
    seq: int = 0
    call: tuple[str, str] | None = None


read_event: Final = msgspec.json.Decoder(Event).decode


def agents_channel(provider: str) -> str:
    """Return the hub's channel for agents who answer for this business but not for all businesses."""
    return f"{AGENTS}:{provider}"


def is_for_agents(channel: str) -> bool:
    """Return whether a channel carries events for agents' pages."""
    return channel.partition(":")[0] == AGENTS


def customer_channel(provider: str, login: str, uid: str) -> str:
    """Return the hub's channel for one person's sockets. Only the last part, `uid`, may contain a colon."""
    return f"customer:{provider}:{login}:{uid}"


def customer_on(channel: str) -> tuple[str, str, str] | None:
    """Return the provider, login and uid of the person whose channel this is, or None for any other channel."""
    kind, _, rest = channel.partition(":")
    provider, login, uid = rest.split(":", 2) if kind == "customer" else ("", "", "")
    return (provider, login, uid) if provider else None


def encoded(frame: Mapping[str, object], source: str = "", *, call: CallEvent | None = None) -> bytes:
    """Encode a frame as an event for the hub. `call` is the call that the frame is about."""
    about = None if call is None else (call["call_id"], call["state"])
    return _encode(Event(msgspec.Raw(_encode(frame)), source, call=about))


def message_told(entry: Entry, source: str = "") -> bytes:
    """Encode the event that carries a message to a person's sockets."""
    frame = _encode(MessageEvent(type="message", **entry))
    return _encode(Event(msgspec.Raw(frame), source, seq=entry["seq"]))


def call_told(event: CallEvent, source: str = "") -> bytes:
    """Encode the event that carries a call's state to a person's sockets."""
    return encoded(event, source, call=event)
