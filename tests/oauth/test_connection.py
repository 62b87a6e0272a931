"""Tests of the fake's HTTP connections, with raw bytes over a socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chatkey_oauth.app import BODY_BYTES, MOST_BYTES
from chatkey_oauth.serve import Listening
from chatkey_oauth.settings import Settings
from chatkey_stack.patience import PATIENCE

DISCOVERY = b"GET /oidc/.well-known/openid-configuration HTTP/1.1\r\nHost: fake\r\n"
LAB = b"GET /lab/clock HTTP/1.1\r\nHost: localhost\r\n"
UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a fake with a lab."""
    with Listening("127.0.0.1", 0) as listening, listening.serving(Settings(lab=True, port=listening.port)):
        yield listening.port


@contextmanager
def wire(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        yield connection


def answers(port: int, sent: bytes) -> bytes:
    """Send bytes, and return everything that the fake sends until it closes the connection."""
    received = bytearray()
    with wire(port) as connection:
        connection.sendall(sent)
        while part := connection.recv(65536):
            received += part
    return bytes(received)


def statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(DISCOVERY + b"Connection: close\r\n\r\n", [200], id="one request"),
        pytest.param(DISCOVERY.replace(b"1.1", b"1.0") + b"\r\n", [200], id="HTTP/1.0"),
        pytest.param(
            DISCOVERY + b"\r\n" + LAB + b"\r\n" + DISCOVERY + b"Connection: close\r\n\r\n",
            [200, 200, 200],
            id="pipelined around a request of the lab",
        ),
        pytest.param(DISCOVERY + UPGRADE + b"\r\n" + DISCOVERY + b"Connection: close\r\n\r\n", [200, 200], id="h2c"),
        pytest.param(
            b"POST /oidc/token HTTP/1.1\r\nHost: fake\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            b"5\r\ngrant\r\n0\r\n\r\n",
            [401],
            id="chunked",
        ),
        pytest.param(
            b"POST /oidc/token HTTP/1.1\r\nHost: fake\r\nExpect: 100-continue\r\nContent-Length: 1\r\n"
            b"Connection: close\r\n\r\nx",
            [100, 401],
            id="expecting 100",
        ),
        pytest.param(
            b"GET http://fake/oidc/jwks HTTP/1.1\r\nHost: fake\r\nConnection: close\r\n\r\n", [200], id="absolute"
        ),
        pytest.param(b"no http\r\n\r\n", [400], id="no HTTP"),
        pytest.param(b"GET //[ HTTP/1.1\r\nHost: fake\r\nConnection: close\r\n\r\n", [404], id="odd path"),
    ],
)
def test_every_request_gets_one_response(port: int, sent: bytes, expected: list[int]) -> None:
    assert statuses(answers(port, sent)) == expected


@pytest.mark.parametrize(("length", "expected"), [(BODY_BYTES, 401), (BODY_BYTES + 1, 413), (MOST_BYTES, 413)])
def test_a_large_body_is_refused(port: int, length: int, expected: int) -> None:
    head = b"POST /oidc/token HTTP/1.1\r\nHost: fake\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % length

    with wire(port) as connection:
        connection.sendall(head + b"x" * length)
        received = connection.recv(65536)

    assert statuses(received) == [expected]


def test_head_gets_the_headers_of_get(port: int) -> None:
    got, asked = (
        answers(port, DISCOVERY.replace(b"GET", method) + b"Connection: close\r\n\r\n") for method in (b"GET", b"HEAD")
    )

    assert got.startswith(asked)
    assert asked.endswith(b"\r\n\r\n")


def test_responses_carry_the_date(port: int) -> None:
    received = answers(port, DISCOVERY + b"Connection: close\r\n\r\n")

    (date,) = [line for line in received.decode().split("\r\n") if line.startswith("date: ")]
    assert date.endswith(" GMT")
    assert len(date) == len("date: Thu, 26 Nov 2026 22:34:20 GMT")
