"""Tests of RFC 6455 with raw bytes, beyond the suite's cases: lengths, compression and floods."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving.socket_rows import HANDSHAKE

from chatkey_conform.suite.frames import CONT, PING, TEXT, frame, padded
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_peer.key import BrowserKey

CLOSE, PONG = 8, 10
PROTOCOL_ERROR, TOO_BIG = 1002, 1009


class Wire:
    """A raw WebSocket connection after the handshake."""

    def __init__(self, connection: socket.socket, rest: bytes) -> None:
        self._connection = connection
        self._received = rest

    def send(self, *frames: bytes) -> None:
        self._connection.sendall(b"".join(frames))

    def next(self) -> tuple[int, bytes]:
        """Return the opcode and payload of the next frame."""
        first, size = self._take(2)
        assert first & 0x70 == 0, "reserved bits are set"
        if size == 126:
            (size,) = struct.unpack("!H", self._take(2))
        return first & 0x0F, self._take(size)

    def say(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message, and return the response."""
        self.send(frame(TEXT, json.dumps(message).encode()))
        return self.answer()

    def answer(self) -> dict[str, Any]:
        opcode, payload = self.next()
        assert opcode == TEXT, (opcode, payload)
        answer: dict[str, Any] = json.loads(payload)
        return answer

    def end(self) -> tuple[list[dict[str, Any]], int]:
        """Return the remaining messages and the close code. Fails if any bytes follow the close frame."""
        said = []
        while True:
            opcode, payload = self.next()
            if opcode == CLOSE:
                break
            if opcode == TEXT:
                said.append(json.loads(payload))
        self._connection.shutdown(socket.SHUT_WR)
        assert not self._received
        assert not self._connection.recv(1), "something came after the close frame"
        return said, int.from_bytes(payload[:2])

    def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            chunk = self._connection.recv(65_536)
            assert chunk, "the connection ended without a close frame"
            self._received += chunk
        taken, self._received = self._received[:size], self._received[size:]
        return taken


@contextmanager
def opened(service: Service) -> Iterator[Wire]:
    """Open a raw WebSocket without reading `hello`."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(HANDSHAKE.replace(b"/row", b"/v1/socket") + b"\r\n")
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(4096)
        head, _, rest = received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        yield Wire(connection, rest)


@contextmanager
def ready(service: Service, shop: Shop) -> Iterator[Wire]:
    token = shop.token()
    with opened(service) as wire:
        nonce = wire.answer()["nonce"]
        with service.socket() as signer:
            proof = signer.prove(shop.key, token, nonce=nonce)
        assert wire.say({"type": "connect", "token": token, "proof": proof})["type"] == "ready"
        yield wire


@pytest.mark.row("WSK-041")
def test_a_peer_that_goes_on_sending_still_learns_why_it_was_closed(service: Service, shop: Shop) -> None:
    with ready(service, shop) as wire:
        wire.send(frame(TEXT, padded(4_000_000)))

        assert wire.end() == ([], TOO_BIG)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(frame(PING) * 10_000, id="WSK-043-pings"),
        pytest.param(frame(PONG, b"unasked") * 10_000, id="WSK-043-pongs"),
        pytest.param(frame(TEXT, b"{", fin=False) + frame(CONT, fin=False) * 10_000, id="WSK-043-fragments"),
    ],
)
def test_a_flood_of_control_frames_ends_the_connection(service: Service, shop: Shop, sent: bytes) -> None:
    with ready(service, shop) as wire:
        wire.send(frame(PING, b"one"))
        assert wire.next() == (PONG, b"one")
        wire.send(sent)

        assert wire.end() == ([], 4429)
    assert service.heard("socket.refused")["facts"]["code"] == "rate_limited"


@pytest.mark.row("WSK-043")
def test_a_flood_of_messages_is_cut_off_and_the_rest_of_it_not_stored(service: Service) -> None:
    shop = service.shop()
    flood = b"".join(
        frame(TEXT, json.dumps({"type": "message", "id": f"m-{n}", "body": "Buy!"}).encode()) for n in range(10_000)
    )

    with ready(service, shop) as wire:
        wire.send(flood)
        said, close = wire.end()

    assert (said[-1]["code"], close) == ("rate_limited", 4429)
    acknowledged = [answer["seq"] for answer in said[:-1]]
    assert {answer["type"] for answer in said[:-1]} == {"ack"}
    assert len(acknowledged) < 100
    with ready(service, shop) as wire:
        stored = wire.say({"type": "history", "id": "h-1"})["messages"]
    assert [message["seq"] for message in stored] == acknowledged[-50:]


def test_frames_after_a_refusal_are_not_read(service: Service, shop: Shop, key: BrowserKey) -> None:
    token = shop.token(uid="too-late")
    with opened(service) as wire:
        nonce = wire.answer()["nonce"]
        with service.socket() as signer:
            bad, good = (
                {"type": "connect", "token": token, "proof": signer.prove(by, token, nonce=nonce)}
                for by in (key, shop.key)
            )
        message = {"type": "message", "id": "m-1", "body": "Is anybody there?"}
        wire.send(*(frame(TEXT, json.dumps(said).encode()) for said in (bad, good, message)))
        said, close = wire.end()

    assert ([answer["code"] for answer in said], close) == (["proof_key_mismatch"], 4403)
    with service.socket() as peer:
        peer.join(token, shop.key)
        assert peer.ask({"type": "history", "id": "h-1"})["messages"] == []
