"""Tests of the limits for one peer over the network. The server has low limits. Each limit is a setting."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from websockets.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.refusals.kit.shipped import MakeService, Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.subject.peer import Peer

Json = dict[str, Any]

LIMITS = {
    "REQUEST_TIMEOUT": 1,
    "AUTH_TIMEOUT": 2,
    "FRAME_TIMEOUT": 1,
    "PONG_TIMEOUT": 1,
    "IDLE_TIMEOUT": 3,
    "FRAME_BYTES": 16_384,
    "MESSAGE_CHARS": 100,
    "NAME_CHARS": 10,
    "FRAMES_PER_SECOND": 5,
    "SOCKETS_PER_ADDRESS": 40,
    "SOCKETS_PER_IDENTITY": 3,
}
SLACK = 2.0
"""Seconds that a busy machine may be late."""
TEXT, FINAL, MASKED = 0x01, 0x80, 0x80


@pytest.fixture(scope="module")
def tight(make_service: MakeService) -> Iterator[Service]:
    with make_service(**{f"LIMIT_{name}": str(value) for name, value in LIMITS.items()}) as made:
        yield made


@pytest.fixture(scope="module")
def business(tight: Service) -> Shop:
    return tight.shop()


def join(service: Service, shop: Shop, ending: ExitStack, *, uid: str, **options: Any) -> Peer:
    """Open a socket, and connect as the member `uid`."""
    peer: Peer = ending.enter_context(service.socket(**options))
    token = shop.token(uid=uid)
    assert peer.connect(token, peer.prove(shop.key, token)).granted
    return peer


# slow and silent peers: all begin at once, because they wait in real time


class Fate(NamedTuple):
    """How the server closed a peer's connection, and after how many seconds."""

    close: int | None
    reason: str
    seconds: float


def fate_of(connection: socket.socket, drip: Callable[[], bytes | None]) -> Fate:
    """Send what `drip` returns, ten times a second, until the server closes the connection."""
    begun, received = time.monotonic(), b""
    connection.settimeout(0.1)
    while time.monotonic() - begun < 10:
        try:
            if piece := drip():
                connection.sendall(piece)
            chunk = connection.recv(65_536)
        except TimeoutError:
            continue
        except ConnectionError:
            break
        if not chunk:
            break
        received += chunk
    at = received.rfind(b"\x88")  # the close frame is short and comes last
    if at < 0:
        return Fate(None, "", time.monotonic() - begun)
    payload = received[at + 2 :]
    return Fate(int.from_bytes(payload[:2]), payload[2:].decode(), time.monotonic() - begun)


def dripping(pieces: Iterator[bytes]) -> Callable[[], bytes | None]:
    return lambda: next(pieces, None)


def http_peer(service: Service, sent: bytes) -> Fate:
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(sent)
        return fate_of(connection, lambda: None)


def socket_peer(service: Service, shop: Shop, uid: str, pieces: Iterator[bytes], *, pongs: bool = False) -> Fate:
    """Connect with a valid token and proof, then send `pieces` as raw bytes. Pings get no automatic pong."""
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(
            b"GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        received = b""
        while b'"ping"' not in received:
            received += connection.recv(4096)
        hello: Json = json.loads(received[received.index(b"{") :])
        token = shop.token(uid=uid)
        with service.socket() as signer:
            proof = signer.prove(shop.key, token, nonce=hello["nonce"])
        connect = json.dumps({"type": "connect", "token": token, "proof": proof}).encode()
        connection.sendall(bytes([FINAL | TEXT, MASKED | 126]) + len(connect).to_bytes(2) + bytes(4) + connect)
        assert b'"ready"' in connection.recv(4096)
        return fate_of(connection, dripping(pieces))


def within_a_frame() -> Iterator[bytes]:
    yield bytes([FINAL | TEXT, MASKED | 126]) + (1000).to_bytes(2) + bytes(4)
    while True:
        yield b"x"


def within_a_message() -> Iterator[bytes]:
    yield bytes([TEXT, MASKED | 1]) + bytes(4) + b"{"
    while True:
        yield from (b"", b"", bytes([0, MASKED | 1]) + bytes(4) + b" ")


def within_a_header() -> Iterator[bytes]:
    yield bytes([FINAL | TEXT])


def quiet(service: Service, shop: Shop) -> Fate:
    with ExitStack() as ending:
        peer = join(service, shop, ending, uid="quiet")
        begun = time.monotonic()
        ended = peer.end()
        return Fate(ended.close, ended.reason, time.monotonic() - begun)


def talking(service: Service, shop: Shop) -> Fate:
    with ExitStack() as ending:
        peer = join(service, shop, ending, uid="talking")
        begun = time.monotonic()
        while (seconds := time.monotonic() - begun) < LIMITS["IDLE_TIMEOUT"] + 1:
            try:
                peer.connection.recv(timeout=0.5)
            except TimeoutError:
                assert peer.ask({"type": "ping"})["type"] == "pong"
            except ConnectionClosed as closed:
                received = closed.rcvd
                return Fate(received.code if received else None, received.reason if received else "", seconds)
        return Fate(None, "still open", seconds)


HALF = b"GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgr"


@pytest.fixture(scope="module")
def fates(tight: Service, business: Shop) -> Iterator[dict[str, Future[Fate]]]:
    """Map each slow or silent peer to the way in which its connection ended."""
    peers: dict[str, Callable[[], Fate]] = {
        "nothing": lambda: http_peer(tight, b""),
        "half a request": lambda: http_peer(tight, HALF),
        "within a frame": lambda: socket_peer(tight, business, "slow-1", within_a_frame()),
        "within a message": lambda: socket_peer(tight, business, "slow-2", within_a_message()),
        "within a header": lambda: socket_peer(tight, business, "slow-3", within_a_header()),
        "no pong": lambda: socket_peer(tight, business, "slow-4", iter(())),
        "quiet": lambda: quiet(tight, business),
        "talking": lambda: talking(tight, business),
    }
    with ThreadPoolExecutor(len(peers)) as pool:
        yield {name: pool.submit(peer) for name, peer in peers.items()}


# how many sockets and frames at once


@pytest.mark.usefixtures("fates")
@pytest.mark.contract("D-10/sockets")
@pytest.mark.row("WSK-045")
def test_the_number_of_sockets_of_one_identity_is_limited(tight: Service, business: Shop) -> None:
    most = LIMITS["SOCKETS_PER_IDENTITY"]
    token = business.token(uid="everywhere")
    with ExitStack() as ending:
        peers = [join(tight, business, ending, uid="everywhere") for _ in range(most)]

        refused = tight.try_token(token, business.key)
        refused.refused("too_many_sockets", 4429)
        assert refused.frames[-1]["retryable"]
        assert tight.try_token(business.token(uid="another"), business.key).granted
        peers[0].connection.close()

        assert tight.try_token(token, business.key).granted


@pytest.mark.contract("D-10/sockets")
def test_the_number_of_sockets_of_one_address_is_limited(tight: Service) -> None:
    most = LIMITS["SOCKETS_PER_ADDRESS"]
    with ExitStack() as ending:
        for _ in range(most):
            assert ending.enter_context(tight.socket(local_addr=("127.0.0.9", 0))).hello["type"] == "hello"

        with tight.socket(local_addr=("127.0.0.9", 0)) as refused:
            refused.end().refused("too_many_sockets", 4429)
        with tight.socket(local_addr=("127.0.0.10", 0)) as elsewhere:
            assert elsewhere.hello["auth_timeout"] == LIMITS["AUTH_TIMEOUT"]


@pytest.mark.row("WSK-043")
def test_the_number_of_frames_per_second_is_limited(tight: Service, business: Shop) -> None:
    most = LIMITS["FRAMES_PER_SECOND"]
    with ExitStack() as ending:
        peer = join(tight, business, ending, uid="busy")  # its `connect` was the first frame of this second
        for _ in range(most - 1):
            assert peer.ask({"type": "ping"})["type"] == "pong"
        for _ in range(20 * most):
            peer.say({"type": "ping"})
        ended = peer.end()

    assert (ended.frames[-1]["code"], ended.close) == ("rate_limited", 4429)
    assert {frame["type"] for frame in ended.frames[:-1]} <= {"pong"}
    assert len(ended.frames) < 4 * most  # a few seconds' worth on a busy machine, far fewer than all


# how the slow and silent peers ended


@pytest.mark.contract("D-10/patience")
@pytest.mark.parametrize(
    ("name", "close", "reason", "limit"),
    [
        pytest.param("nothing", None, "", "REQUEST_TIMEOUT", id="WSK-022-nothing"),
        pytest.param("half a request", None, "", "REQUEST_TIMEOUT", id="WSK-022"),
        pytest.param("within a frame", 4408, "frame_timeout", "FRAME_TIMEOUT", id="WSK-023"),
        pytest.param("within a message", 4408, "frame_timeout", "FRAME_TIMEOUT", id="WSK-023-fragments"),
        pytest.param("within a header", 4408, "frame_timeout", "FRAME_TIMEOUT", id="WSK-023-header"),
        pytest.param("quiet", 4408, "idle_timeout", "IDLE_TIMEOUT", id="WSK-046-idle"),
    ],
)
def test_a_slow_or_silent_peer_is_closed_at_its_limit(
    fates: dict[str, Future[Fate]], name: str, close: int | None, reason: str, limit: str
) -> None:
    fate = fates[name].result()

    assert (fate.close, fate.reason) == (close, reason)
    assert LIMITS[limit] - 0.1 <= fate.seconds < LIMITS[limit] + SLACK


@pytest.mark.row("WSK-046")
def test_a_peer_that_does_not_answer_pings_is_closed(fates: dict[str, Future[Fate]]) -> None:
    fate = fates["no pong"].result()

    assert fate.close == 1011
    assert fate.seconds < 2 * LIMITS["PONG_TIMEOUT"] + SLACK


def test_a_peer_that_talks_now_and_then_stays(fates: dict[str, Future[Fate]]) -> None:
    assert fates["talking"].result().reason == "still open"


# limits that a test reaches by moving the service's clock


@pytest.mark.row("WSK-021")
def test_a_silent_peer_is_closed_when_its_time_is_over(service: Service) -> None:
    """F120: the server must close the connection after ten seconds without `connect`."""
    with service.socket() as silent:
        assert silent.hello["auth_timeout"] == 10
        service.advance(10)

        silent.end().refused("auth_timeout", 4408)


@pytest.mark.row("WSK-050")
def test_a_token_that_ends_ends_its_connection(service: Service, shop: Shop) -> None:
    """F065: the server must ask for a new token 30 seconds before the old one expires, or else close with 4419."""
    token = shop.token(exp=shop.now + 100)
    with service.socket() as peer:
        peer.join(token, shop.key)
        service.advance(71)
        assert peer.next()["type"] == "reauth"
        service.advance(30)

        peer.end().refused("token_expired", 4419)


# a restart


@pytest.mark.row("WSK-060")
def test_a_restart_closes_with_1012_and_accepts_the_peer_afterwards(tight: Service, business: Shop) -> None:
    with ExitStack() as ending:
        peer = join(tight, business, ending, uid="patient")
        silent = ending.enter_context(tight.socket())

        tight.process.restart()

        for ended in (peer.end(), silent.end()):
            ended.refused("restarting", 1012)
        again = join(tight, business, ending, uid="patient")
        assert again.ask({"type": "ping"})["type"] == "pong"
