"""The messages that processes publish on Redis: payloads for one of the hub's channels, or a heartbeat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

BEATS: Final = ""
"""The channel for heartbeats, to which every process listens."""


class Message(msgspec.Struct, frozen=True, array_like=True):
    """One of the hub's channels and the payloads for it. A heartbeat has no payloads.

    `asks` and `answers` are session ids; see `Freshness`.
    """

    channel: str = BEATS
    payloads: list[bytes] = []
    asks: list[bytes] = []
    answers: list[bytes] = []


encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(Message).decode


def by_channel(news: Iterable[tuple[str, bytes]], asks: list[bytes], answers: list[bytes]) -> list[Message]:
    """Group payloads into one message per channel, in the order in which the channels first occur."""
    payloads: dict[str, list[bytes]] = {}
    for channel, payload in news:
        payloads.setdefault(channel, []).append(payload)
    return [Message(channel, said, asks, answers) for channel, said in payloads.items()]
