"""Tests of network connections. Each one must have a deadline, be counted, and be closed when the server stops."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.server.test_serve import serving, tls_of

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK
from chatkey_stack.tls import issue, trust

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import MakeService, Service

SHORT: Final = {
    f"LIMIT_{name}_TIMEOUT": seconds
    for name, seconds in {"REQUEST": "1", "AUTH": "1", "FRAME": "1", "PONG": "1", "IDLE": "2"}.items()
}
HOST: Final = b"Host: localhost\r\n"
UPGRADE: Final = (
    HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: wf.v1\r\n"
)
SOCKET: Final = b"GET /v1/socket HTTP/1.1\r\n" + UPGRADE
CALLBACK: Final = b"POST /v1/public/oauth/google/callback HTTP/1.1\r\n" + HOST
GET: Final = b"GET / HTTP/1.1\r\n" + HOST
CLOSING: Final = GET + b"Connection: close\r\n\r\n"

Pieces = Sequence[bytes]
"""The pieces that one connection sends: the first at once, each later one after a read or a short wait."""

SILENT: Final[dict[str, Pieces]] = {
    "nothing": [b""],
    "a line end": [b"\r\n"],
    "half a request": [GET],
    "half a body": [CALLBACK + b"Content-Length: 9\r\n\r\nstate"],
    "a line end after a response": [GET + b"\r\n", b"\r\n"],
    "half a request after a response": [GET + b"\r\n", b"GET"],
    "another upgrade": [GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"],
    "another upgrade, and bytes after it": [GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"PRI", b"x"],
    "another upgrade with a body": [CALLBACK + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 9\r\n\r\n"],
    "a socket that says nothing": [SOCKET + b"\r\n"],
    "a socket with half a frame": [SOCKET + b"\r\n", b"\x81\xfe"],
    "a socket with half a message": [SOCKET + b"\r\n", b"\x01\x80\x00\x00\x00\x00"],
    "a socket opened by an unusual handshake": [SOCKET + b"X: \xff\r\n\r\n"],
    "an agent's socket": [SOCKET.replace(b"/v1/socket", b"/agent/socket") + b"\r\n"],
}
"""Connections that fall silent, so that the server has to close them by itself."""


@pytest.fixture(scope="module")
def hasty(make_service: MakeService) -> Iterator[Service]:
    with make_service(**SHORT) as made:
        yield made


async def heard(port: int, pieces: Pieces) -> bytes:
    """Return what a connection receives until the server closes it. Fails if the connection stays open."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    received = b""
    try:
        async with asyncio.timeout(PATIENCE):
            writer.write(pieces[0])
            for piece in pieces[1:]:
                received += await reader.read(65536)
                writer.write(piece)
            while some := await reader.read(65536):
                received += some
    except ConnectionError:
        pass  # the server reset the connection
    finally:
        writer.close()
    return received


async def all_heard(port: int, connections: Sequence[Pieces]) -> list[bytes]:
    """Open all connections at the same time. Returns what each connection received until the server closed it."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(heard(port, pieces)) for pieces in connections]
    return [task.result() for task in tasks]


async def test_a_connection_that_stalls_is_ended(hasty: Service) -> None:
    await all_heard(hasty.port, list(SILENT.values()))


def test_open_connections_do_not_keep_the_server_from_stopping(tmp_path: Path) -> None:
    with serving(tmp_path) as server, ExitStack() as opened:
        for pieces in SILENT.values():
            opened.enter_context(dialled(server.port)).sendall(pieces[0])
        server.raw(CLOSING)  # by now the server has read everything sent before

        server.process.send_signal(signal.SIGTERM)

        assert server.process.wait(PATIENCE) == 0, server.log


def test_a_tls_handshake_has_the_time_limit_of_a_request(tmp_path: Path) -> None:
    half_a_hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

    with issue(tmp_path) as made, serving(tmp_path, CHATKEY_LIMIT_REQUEST_TIMEOUT="1", **tls_of(made)) as it:
        with dialled(it.port) as silent, dialled(it.port) as begun:
            begun.sendall(half_a_hello)
            ends = [rest(silent), rest(begun)]
        with trust(made.ca).wrap_socket(dialled(it.port), server_hostname="localhost") as honest:
            honest.sendall(CLOSING)
            answer = rest(honest)

    assert ends == [b"", b""]
    assert answer.startswith(b"HTTP/1.1 404 ")


@pytest.mark.contract("D-20/limits")
def test_the_number_of_connections_of_an_address_is_limited(make_service: MakeService) -> None:
    with make_service(LIMIT_SOCKETS_PER_ADDRESS="5") as service, ExitStack() as opened:
        wires = [opened.enter_context(dialled(service.port, "127.0.0.9")) for _ in range(2 * 5)]
        kept = [answered(wire) for wire in wires]
        with dialled(service.port, "127.0.0.9") as one_more, dialled(service.port, "127.0.0.10") as elsewhere:
            refused, other = rest(one_more), answered(elsewhere)

        assert set(kept) == {b"HTTP/1.1 404"}
        assert (refused, other) == (b"", b"HTTP/1.1 404")
        for _ in range(3 * 2 * 5):  # each socket closes before the next one opens
            assert until_admitted(service.port, "127.0.0.11", SOCKET) == b"HTTP/1.1 101"


def test_connections_of_a_trusted_proxy_are_not_counted(make_service: MakeService) -> None:
    with (
        make_service(LIMIT_SOCKETS_PER_ADDRESS="5", TRUSTED_PROXIES="127.0.0.8/31", LAB="0") as service,
        ExitStack() as opened,
    ):
        wires = [opened.enter_context(dialled(service.port, "127.0.0.9")) for _ in range(2 * 5 + 1)]

        assert {answered(wire) for wire in wires} == {b"HTTP/1.1 404"}


def dialled(port: int, source: str = LOOPBACK) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=PATIENCE, source_address=(source, 0))


def answered(wire: socket.socket, request: bytes = GET) -> bytes:
    """Send a request, and return the beginning of the response. Returns nothing if the server closes the connection."""
    try:
        wire.sendall(request + b"\r\n")
        return wire.recv(12)
    except ConnectionError:
        return b""


def rest(wire: socket.socket) -> bytes:
    received = b""
    with suppress(ConnectionError):
        while some := wire.recv(65536):
            received += some
    return received


def until_admitted(port: int, source: str, request: bytes) -> bytes:
    """Connect again and again until the server responds, and return the beginning of the response.

    The server must first notice that another connection from this address was closed.
    """
    ends_at = time.monotonic() + PATIENCE
    while time.monotonic() < ends_at:
        with dialled(port, source) as wire:
            if found := answered(wire, request):
                return found
    return b""
