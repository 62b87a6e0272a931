"""Tests of the socket layer below the app. The peer is slow, reads nothing, or prevents the close."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from tests.serving.pipe import App, Pipe
from tests.serving.socket_rows import HANDSHAKE

from chatkey_protocol.codes import Close, Code
from chatkey_server.commands.serve import wire_limits
from chatkey_server.identity.errors import MEANINGS, Refused
from chatkey_server.peers.open_sockets import Crowd
from chatkey_server.settings import Limits
from chatkey_serving import websocket
from chatkey_serving.allowance import Allowance
from chatkey_serving.site import Site
from chatkey_serving.websocket import DisconnectedError, SocketConnection
from chatkey_stack.patience import PATIENCE

PING = b"\x89\x80" + bytes(4)
EMPTY = b"\x81\x80" + bytes(4)
SOON = 0.02


def limits(**seconds: Any) -> Limits:
    """Return limits in fractions of a second. The settings allow only whole seconds."""
    return dataclasses.replace(Limits(), **seconds)


async def opened(app: App, given: Limits, *, can_half_close: bool = True) -> tuple[Pipe, SocketConnection]:
    """Open a socket to the app, whose peer leaves one byte unread. Wait until the app has accepted the socket."""
    site = Site(app=app, limits=wire_limits(given), refused=lambda code: MEANINGS[code].close, has_sockets=True)
    pipe = Pipe(site, unsent=1, can_half_close=can_half_close)
    pipe.receive(HANDSHAKE + b"\r\n")
    await pipe.answered.wait()
    assert isinstance(pipe.protocol, SocketConnection)
    return pipe, pipe.protocol


async def greedy(scope: Any, receive: Any, send: Any) -> None:
    """An app that accepts the socket, and answers each message until the peer disconnects."""
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": "x"})


async def curt(scope: Any, receive: Any, send: Any) -> None:
    """An app that accepts the socket and closes it at once."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": 4400})


@pytest.mark.contract("D-10/patience")
async def test_a_peer_that_does_not_read_is_cut_off() -> None:
    pipe, protocol = await opened(greedy, limits(pong_timeout=SOON))

    protocol.pause_writing()
    await asyncio.wait_for(pipe.aborted.wait(), PATIENCE)

    assert protocol.is_gone


async def test_answering_a_peer_closed_for_silence_raises_a_disconnect() -> None:
    """The server closes the connection with 1011 while the app prepares an answer. The app's send must fail."""
    asked, met = asyncio.Event(), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await asked.wait()
        with pytest.raises(DisconnectedError):
            await send({"type": "websocket.send", "text": "the answer"})
        met.set()

    pipe, protocol = await opened(slow, limits())

    protocol.miss_pong()
    asked.set()
    await asyncio.wait_for(met.wait(), PATIENCE)

    assert b"keepalive ping timeout" in pipe.written
    protocol.connection_lost(None)


async def test_a_peer_that_reads_in_time_stays() -> None:
    pipe, protocol = await opened(greedy, limits(pong_timeout=SOON))

    protocol.pause_writing()
    protocol.resume_writing()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pipe.aborted.wait(), 3 * SOON)
    protocol.connection_lost(None)


async def test_a_peer_that_does_not_answer_the_close_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "LEAVING_SECONDS", SOON)

    pipe, _ = await opened(curt, limits())

    await asyncio.wait_for(pipe.aborted.wait(), PATIENCE)
    assert b"\x88\x02\x11\x30" in pipe.written


async def test_a_peer_is_not_cut_off_while_the_app_reads_no_messages() -> None:
    reads = asyncio.Event()

    async def busy(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await reads.wait()
        while (await receive())["type"] == "websocket.receive":
            pass

    pipe, protocol = await opened(busy, limits(frame_timeout=SOON))
    protocol.data_received(EMPTY + b"\x81")  # a frame that the app does not receive, and the first byte of another

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pipe.aborted.wait(), 3 * SOON)
    assert not protocol.close_sent

    reads.set()
    await asyncio.wait_for(pipe.shut.wait(), PATIENCE)
    assert Code.FRAME_TIMEOUT.encode() in pipe.written
    protocol.connection_lost(None)


async def test_frames_received_together_are_read_one_by_one() -> None:
    """The server must not parse thousands of small frames before the app can refuse the first one."""
    _, protocol = await opened(greedy, limits())

    protocol.data_received(EMPTY * 10_000)

    assert len(protocol._messages) == 1
    protocol.connection_lost(None)


async def test_data_after_the_close_frame_is_not_passed_to_the_app() -> None:
    pipe, protocol = await opened(greedy, limits(frames_per_second=3))

    protocol.data_received(PING * 10)
    protocol.data_received(PING)

    closing = bytes([0x88, 2 + len(Code.RATE_LIMITED)]) + Close.RATE_LIMITED.to_bytes(2) + Code.RATE_LIMITED.encode()
    assert pipe.written.endswith(b"\x8a\x00" * 3 + closing)
    assert pipe.shut.is_set()
    protocol._others = Allowance(0, 0.0)  # as if time had passed
    protocol.data_received(PING)
    assert pipe.written.endswith(closing)
    protocol.connection_lost(None)


async def test_a_flood_after_the_close_frame_is_not_waited_for() -> None:
    pipe, protocol = await opened(curt, limits(frames_per_second=1))
    assert protocol.close_sent

    protocol.data_received(PING * 3)

    assert pipe.aborted.is_set()


async def test_a_tls_connection_is_closed_at_once_because_it_cannot_be_half_closed() -> None:
    pipe, protocol = await opened(greedy, limits(frames_per_second=1), can_half_close=False)

    protocol.data_received(PING * 3)

    assert pipe.written.endswith(Code.RATE_LIMITED.encode())
    assert (pipe.shut.is_set(), pipe.is_closed) == (False, True)
    protocol.connection_lost(None)


def test_an_allowance_permits_one_seconds_worth_at_once_and_then_that_rate() -> None:
    allowance = Allowance(3, 100.0)

    assert [allowance.take(100.0) for _ in range(4)] == [True, True, True, False]
    assert [allowance.take(100.4) for _ in range(2)] == [True, False]
    assert [allowance.take(1000.0) for _ in range(4)] == [True, True, True, False]
    assert [allowance.take(50.0) for _ in range(1)] == [False]


def test_an_allowance_may_have_a_larger_burst_and_refused_amounts_are_not_counted() -> None:
    allowance = Allowance(1, 100.0, at_once=3)

    assert [allowance.take(100.0, 2), allowance.take(100.0, 2), allowance.take(100.0)] == [True, False, True]
    assert [allowance.take(102.0, 3), allowance.take(103.0, 3)] == [False, True]


def test_an_allowance_of_zero_means_no_limit() -> None:
    assert all(Allowance(0, 0.0).take(0.0) for _ in range(1000))


@pytest.mark.contract("D-10/sockets")
def test_a_crowd_limits_each_name_and_forgets_those_who_left() -> None:
    crowd = Crowd("address", 2)
    for name in ("a", "a", "b"):
        crowd.join(name)

    with pytest.raises(Refused) as refused:
        crowd.join("a")
    assert (refused.value.code, refused.value.meaning.close) == (Code.TOO_MANY_SOCKETS, Close.RATE_LIMITED)
    assert "address has 2 sockets" in refused.value.message

    crowd.leave("a")
    crowd.join("a")
    for name in ("a", "a", "b"):
        crowd.leave(name)
    assert (len(crowd), "a" in crowd) == (0, False)


def test_a_crowd_without_a_limit_takes_everyone() -> None:
    crowd = Crowd("address", 0)
    for _ in range(5000):
        crowd.join("a")
    assert "a" in crowd
