"""Tests of frames that wait to be sent to a peer. Their order must be kept, and their number is limited."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from chatkey_server.peers.outbox import MAX_BACKLOG, Outbox
from chatkey_server.peers.wire import Wire


class SlowSocket:
    """A socket that sends nothing until a test allows it."""

    def __init__(self) -> None:
        self.may_send = asyncio.Event()
        self.sent: list[str] = []

    async def send(self, event: dict[str, str]) -> None:
        await self.may_send.wait()
        self.sent.append(event["text"])


def outbox_of(socket: SlowSocket) -> Outbox:
    return Outbox(Wire(cast("Any", {}), cast("Any", None), cast("Any", socket.send)))


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_frames_are_sent_in_order() -> None:
    socket = SlowSocket()
    socket.may_send.set()
    outbox = outbox_of(socket)

    assert [outbox.put(b"%d" % n) for n in range(5)] == [True] * 5
    await turns()
    assert outbox.put(b"later")
    await turns()

    assert socket.sent == ["0", "1", "2", "3", "4", "later"]


async def test_the_outbox_of_a_slow_peer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    outbox = outbox_of(SlowSocket())
    outbox.put(b"on its way")
    await turns()
    assert outbox.put(b"waits")

    monkeypatch.setattr("chatkey_server.peers.outbox.SLOW_SECONDS", -1)  # as if a second had passed
    taken = [outbox.put(b"x") for _ in range(MAX_BACKLOG + 10)]

    assert taken == [True] * (MAX_BACKLOG - 1) + [False] * 11
    outbox.close()


async def test_a_reading_peer_gets_a_burst_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that Redis delayed arrive all at once, before the outbox can send any of them."""
    monkeypatch.setattr("chatkey_server.peers.outbox.MOST", 5000)
    socket = SlowSocket()
    outbox = outbox_of(socket)

    taken = [outbox.put(b"x") for _ in range(5010)]
    socket.may_send.set()
    await turns()

    assert taken == [True] * 5000 + [False] * 10
    assert len(socket.sent) == 5000


async def test_once_closed_nothing_more_is_sent() -> None:
    socket = SlowSocket()
    outbox = outbox_of(socket)
    outbox.put(b"on its way")
    outbox.put(b"waiting")
    await turns()

    outbox.close()
    socket.may_send.set()
    await turns()

    assert socket.sent == []
