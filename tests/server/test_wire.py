"""Tests how the server handles slow requests and protocol errors below the app."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from tests.serving.pipe import Pipe

from chatkey_serving.server import Server
from chatkey_serving.site import Limits, Site
from chatkey_stack.patience import PATIENCE

REQUEST = b"GET /v1/public/provider/none HTTP/1.1\r\nHost: localhost\r\n\r\n"
IMPATIENT = Limits(request_timeout=0.1)
PATIENT = Limits(request_timeout=0.5)
"""Half a second is longer than the usual delays of this process."""


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


CLOSING = REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


@pytest.mark.contract("D-20/patience")
@pytest.mark.parametrize("sent", [REQUEST, CLOSING, b"no request\r\n\r\n"], ids=["keep-alive", "close", "refused"])
async def test_a_peer_that_leaves_the_last_of_its_answer_unread_is_cut_off(sent: bytes) -> None:
    """So little data remains that the server is never told to pause writing. A timer must end the connection."""
    pipe = Pipe(Site(app=big_answer, limits=IMPATIENT), unsent=10)

    pipe.receive(sent)

    await asyncio.wait_for(pipe.aborted.wait(), PATIENCE)


@pytest.mark.contract("D-20/patience")
async def test_a_peer_that_leaves_a_refusal_unread_is_cut_off() -> None:
    pipe = Pipe(Site(app=big_answer, limits=IMPATIENT))
    pipe.receive(REQUEST)
    await pipe.answered.wait()

    pipe.unsent = 10
    pipe.receive(b"no request\r\n\r\n")

    await asyncio.wait_for(pipe.aborted.wait(), PATIENCE)


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
