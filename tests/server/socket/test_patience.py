"""Tests of the socket layer below the app. The peer is slow, reads nothing, or prevents the close."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from chatkey_protocol.codes import Close, Code
from chatkey_server.commands.serve import wire_limits
from chatkey_server.identity.errors import MEANINGS, Refused
from chatkey_server.peers.open_sockets import Crowd
from chatkey_server.settings import Limits
from chatkey_serving import websocket
from chatkey_serving.allowance import Allowance
from chatkey_serving.http import HttpConnection
from chatkey_serving.site import Site
from chatkey_serving.websocket import DisconnectedError, SocketConnection
from chatkey_stack.patience import PATIENCE

OPENING = (
    b"GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
PING = b"\x89\x80" + bytes(4)
EMPTY = b"\x81\x80" + bytes(4)
SOON = 0.02

App = Callable[[Any, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


class Pipe(asyncio.Transport):
    """A connection whose peer is controlled by the test."""

    def __init__(self, *, one_side_closes: bool = True) -> None:
        super().__init__()
        self._one_side_closes = one_side_closes
        self.written = b""
        self.is_closed = False
        self.answered, self.shut, self.aborted = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.protocol: asyncio.BaseProtocol | None = None

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.shut.is_set()
        self.written += bytes(data)
        self.answered.set()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_write_buffer_size(self) -> int:
        return 0

    def write_eof(self) -> None:
        self.shut.set()

    def can_write_eof(self) -> bool:
        return self._one_side_closes

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return self.aborted.is_set()

    def close(self) -> None:
        """Do not finish the close, as if the peer never read the remaining data."""
        self.is_closed = True

    def abort(self) -> None:
        self.aborted.set()
        if isinstance(self.protocol, SocketConnection):
            self.protocol.connection_lost(None)


def limits(**seconds: Any) -> Limits:
    """Return limits in fractions of a second. The settings allow only whole seconds."""
    return dataclasses.replace(Limits(), **seconds)


def connected(app: App, given: Limits, pipe: Pipe, opening: bytes = OPENING) -> None:
    """Connect, and request a socket."""
    site = Site(app=app, limits=wire_limits(given), refused=lambda code: MEANINGS[code].close, has_sockets=True)
    http = HttpConnection(site)
    http.connection_made(pipe)
    http.data_received(opening)


async def opened(app: App, given: Limits, pipe: Pipe) -> SocketConnection:
    """Open a socket to the app, and wait until the app has accepted the socket."""
    connected(app, given, pipe)
    await pipe.answered.wait()
    assert isinstance(pipe.protocol, SocketConnection)
    return pipe.protocol


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
    pipe = Pipe()
    protocol = await opened(greedy, limits(pong_timeout=SOON), pipe)

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

    pipe = Pipe()
    protocol = await opened(slow, limits(), pipe)

    protocol.miss_pong()
    asked.set()
    await asyncio.wait_for(met.wait(), PATIENCE)

    assert b"keepalive ping timeout" in pipe.written
    protocol.connection_lost(None)


async def test_a_peer_that_reads_in_time_stays() -> None:
    pipe = Pipe()
    protocol = await opened(greedy, limits(pong_timeout=SOON), pipe)

    protocol.pause_writing()
    protocol.resume_writing()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pipe.aborted.wait(), 3 * SOON)
    protocol.connection_lost(None)


async def test_a_peer_that_does_not_answer_the_close_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "LEAVING_SECONDS", SOON)
    pipe = Pipe()

    await opened(curt, limits(), pipe)

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

    pipe = Pipe()
    protocol = await opened(busy, limits(frame_timeout=SOON), pipe)
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
    pipe = Pipe()
    protocol = await opened(greedy, limits(), pipe)

    protocol.data_received(EMPTY * 10_000)

    assert protocol._messages.qsize() == 1
    protocol.connection_lost(None)


async def test_data_after_the_close_frame_is_not_passed_to_the_app() -> None:
    pipe = Pipe()
    protocol = await opened(greedy, limits(frames_per_second=3), pipe)

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
    pipe = Pipe()
    protocol = await opened(curt, limits(frames_per_second=1), pipe)
    assert protocol.close_sent

    protocol.data_received(PING * 3)

    assert pipe.aborted.is_set()


async def test_a_tls_connection_is_closed_at_once_because_it_cannot_be_half_closed() -> None:
    pipe = Pipe(one_side_closes=False)
    protocol = await opened(greedy, limits(frames_per_second=1), pipe)

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


async def test_a_refused_handshake_opens_no_socket() -> None:
    pipe = Pipe()

    connected(greedy, limits(), pipe, OPENING.replace(b"\r\n\r\n", b"\r\nContent-Length: 4\r\n\r\n"))

    assert pipe.written.startswith(b"HTTP/1.1 400 ")
    assert (pipe.shut.is_set(), pipe.protocol) == (True, None)
