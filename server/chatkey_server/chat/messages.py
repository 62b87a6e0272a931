"""What is published on Redis: what a process says on one of the hub's channels, or a beat of its heart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

BEATS: Final = ""
"""The channel of the beats, which every process hears."""


class Message(msgspec.Struct, frozen=True, array_like=True):
    """One of the hub's channels and the payloads for it; a beat has none.

    `asks` and `answers` are the ids of sessions; see `Freshness`.
    """

    channel: str = BEATS
    payloads: list[bytes] = []
    asks: list[bytes] = []
    answers: list[bytes] = []


encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(Message).decode


def by_channel(news: Iterable[tuple[str, bytes]], asks: list[bytes], answers: list[bytes]) -> list[Message]:
    """Return a message for each channel, in the order in which they were first spoken on."""
    payloads: dict[str, list[bytes]] = {}
    for channel, payload in news:
        payloads.setdefault(channel, []).append(payload)
    return [Message(channel, said, asks, answers) for channel, said in payloads.items()]
