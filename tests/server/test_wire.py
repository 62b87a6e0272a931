"""Tests how the server handles slow requests and protocol errors below the app."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from chatkey_server.app import create_app
from chatkey_server.commands.serve import site_of
from chatkey_server.settings import Settings
from chatkey_serving.http import HttpConnection
from chatkey_serving.server import Server
from chatkey_serving.site import Limits, Site
from chatkey_stack.patience import PATIENCE

REQUEST = b"GET /v1/public/provider/none HTTP/1.1\r\nHost: localhost\r\n\r\n"
IMPATIENT = Limits(request_timeout=0.1)
PATIENT = Limits(request_timeout=0.5)
"""Half a second is longer than the usual delays of this process."""


@pytest.fixture
async def port(sqlite_url: str, tmp_path: Path) -> AsyncIterator[int]:
    """The port of a server in this process. The server waits only a tenth of a second for a request."""
    listener = socket.create_server(("127.0.0.1", 0))
    made: int = listener.getsockname()[1]
    settings = Settings(base_url=f"http://localhost:{made}", data_dir=tmp_path, database_url=sqlite_url)
    site = site_of(create_app(settings), settings)
    site.limits = dataclasses.replace(site.limits, request_timeout=IMPATIENT.request_timeout)
    server = Server(site, lambda: None)
    running = asyncio.create_task(server.serve([listener]))
    yield made
    server.stop()
    await running


@asynccontextmanager
async def dialled(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def until_the_end(reader: asyncio.StreamReader) -> bytes:
    received = b""
    async with asyncio.timeout(PATIENCE):
        try:
            while chunk := await reader.read(65536):
                received += chunk
        except ConnectionResetError:
            pass
    return received


async def test_an_incomplete_second_request_on_a_connection_is_cut_off(port: int) -> None:
    async with dialled(port) as (reader, writer):
        writer.write(REQUEST)
        first = await reader.readuntil(b"}")
        writer.write(REQUEST[:20])

        assert (await until_the_end(reader)).count(b"HTTP/1.1 ") == 0
        assert first.startswith(b"HTTP/1.1 404 ")


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.contract("D-20/limits")
@pytest.mark.parametrize(("method", "has_body"), [(b"GET", True), (b"HEAD", False)])
async def test_an_invalid_request_is_400_and_head_gets_no_body(port: int, method: bytes, has_body: bool) -> None:
    async with dialled(port) as (reader, writer):
        writer.write(method + b" /\x80 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head, _, body = (await until_the_end(reader)).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 400 ")
    assert (b"parameter_invalid" in body) is has_body


async def test_a_request_in_pieces_is_answered(port: int) -> None:
    async with dialled(port) as (reader, writer):
        for piece in (REQUEST[:20], REQUEST[20:]):
            writer.write(piece)
            await writer.drain()

        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 404 ")


BIG = b"x" * 16_000_000


async def big_answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(BIG))]})
    await send({"type": "http.response.body", "body": BIG})


class Uncrowded:
    """A door that reports when a connection has ended."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    def admit(self, _: str) -> bool:
        return True

    def hold(self, _: str, __: int) -> bool:
        return True

    def release(self, _: str) -> None:
        self.left.set()


@pytest.fixture
def limits() -> Limits:
    """The limits of the server with the large response."""
    return IMPATIENT


@pytest.fixture
def door() -> Uncrowded:
    return Uncrowded()


@pytest.fixture
async def big_port(limits: Limits, door: Uncrowded) -> AsyncIterator[int]:
    """The port of a server whose responses are larger than the kernel's buffer for a peer."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(Site(app=big_answer, limits=limits, door=door, has_lifespan=False), lambda: None)
    running = asyncio.create_task(server.serve([listener]))
    yield listener.getsockname()[1]
    server.stop()
    await running


@pytest.mark.contract("D-20/patience")
async def test_a_peer_that_does_not_read_its_answer_is_cut_off(big_port: int, door: Uncrowded) -> None:
    async with dialled(big_port) as (reader, writer), asyncio.timeout(PATIENCE):
        writer.write(REQUEST)
        await reader.read(1)
        cast("asyncio.Transport", writer.transport).pause_reading()
        await door.left.wait()
        cast("asyncio.Transport", writer.transport).resume_reading()

        assert len(await until_the_end(reader)) < len(BIG)


class Stuck(asyncio.Transport):
    """A connection whose peer leaves `unread` bytes unread."""

    def __init__(self, unread: int) -> None:
        super().__init__()
        self.unread = unread
        self.is_answered = self.is_closed = False
        self.aborted = asyncio.Event()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def get_write_buffer_size(self) -> int:
        return self.unread

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self.is_closed

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.is_answered = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.aborted.set()


CLOSING = REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


@pytest.mark.contract("D-20/patience")
@pytest.mark.parametrize("sent", [REQUEST, CLOSING, b"no request\r\n\r\n"], ids=["keep-alive", "close", "refused"])
async def test_a_peer_that_leaves_the_last_of_its_answer_unread_is_cut_off(sent: bytes) -> None:
    """So little data remains that the server is never told to pause writing. A timer must end the connection."""
    wire = Stuck(unread=10)
    protocol = connected(wire)

    protocol.data_received(sent)

    await asyncio.wait_for(wire.aborted.wait(), PATIENCE)


@pytest.mark.contract("D-20/patience")
async def test_a_peer_that_leaves_a_refusal_unread_is_cut_off() -> None:
    wire = Stuck(unread=0)
    protocol = connected(wire)
    protocol.data_received(REQUEST)
    await until(lambda: wire.is_answered)

    wire.unread = 10
    protocol.data_received(b"no request\r\n\r\n")

    await asyncio.wait_for(wire.aborted.wait(), PATIENCE)


def connected(wire: Stuck) -> HttpConnection:
    made = HttpConnection(Site(app=big_answer, limits=IMPATIENT))
    made.connection_made(wire)
    return made


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - nothing says so
            await asyncio.sleep(0)


@pytest.mark.parametrize("limits", [PATIENT], ids=["half a second"])
async def test_a_slow_reader_gets_the_whole_answer(big_port: int, limits: Limits) -> None:
    loop, received = asyncio.get_running_loop(), 0
    async with dialled(big_port) as (reader, writer):
        begun = loop.time()
        writer.write(REQUEST)
        while received < len(BIG) and (piece := await reader.read(400_000)):
            received += len(piece)
            await asyncio.sleep(0.02)  # a slow connection

    assert received >= len(BIG)
    assert loop.time() - begun > 2 * limits.request_timeout
