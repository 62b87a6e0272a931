"""A socket client without a browser, as an attacker with a stolen token or proof would use it."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed

from chatkey_peer.key import BrowserKey
from chatkey_peer.wire import Wire, wire
from chatkey_protocol.names import SUBPROTOCOL
from chatkey_stack.patience import PATIENCE
from chatkey_stack.tls import trust

ANSWER_SECONDS = 10
"""Default timeout in seconds for opening a socket and for each response; `chatkey check` uses it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The response of the service: the last frame, and the close code (None while the socket is open)."""

    frame: dict[str, Any]
    close: int | None

    @property
    def code(self) -> str:
        """The error code of a refusal; for other frames, the type of the frame."""
        return str(self.frame.get("code", self.frame["type"]))


class Peer:
    """One open socket. The service sends the first frame: `hello`, or a refusal."""

    def __init__(self, connection: Wire, uri: str, patience: float) -> None:
        self._connection = connection
        self._uri = uri
        self._patience = patience

    def connect_with(self, token: str, key: BrowserKey) -> Outcome:
        """Wait for `hello`, send `connect` with `token` and a valid proof signed by `key`, and return the response."""
        nonce = self.receive()["nonce"]
        return self._connect(token, key.prove(token=token, nonce=nonce, htu=self._uri))

    def say_connect(self, token: str, proof: str) -> Outcome:
        """Wait for `hello`, send `connect` with a proof from another connection, and return the response."""
        self.receive()
        return self._connect(token, proof)

    def _connect(self, token: str, proof: str) -> Outcome:
        self.send({"type": "connect", "token": token, "proof": proof})
        return self.outcome()

    def send(self, frame: dict[str, Any]) -> None:
        self._connection.send(json.dumps(frame))

    def receive(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(self._connection.recv(self._patience))
        return frame

    def outcome(self) -> Outcome:
        """Return the response, with the close code if it is a refusal."""
        frame = self.receive()
        if frame["type"] != "error":
            return Outcome(frame, None)
        try:
            self._connection.recv(self._patience)
        except ConnectionClosed as closed:
            return Outcome(frame, closed.rcvd.code if closed.rcvd else None)
        raise AssertionError(f"the socket stayed open after {frame}")


@contextmanager
def peer(
    socket_uri: str,
    *,
    origin: str | None,
    ca: Path | None,
    local_host: str = "127.0.0.1",
    port: int | None = None,
    patience: float = PATIENCE,
) -> Iterator[Peer]:
    """Open a socket to `socket_uri` with `origin`. Connect to `local_host` without DNS, at `port` if given."""
    raw = socket.create_connection((local_host, port or urlsplit(socket_uri).port or 443), timeout=patience)
    tls = trust(ca) if socket_uri.startswith("wss:") else None
    with opened(socket_uri, raw, origin=origin, tls=tls, patience=patience) as peer:
        yield peer


@contextmanager
def opened(
    socket_uri: str,
    raw: socket.socket,
    *,
    origin: str | None,
    tls: ssl.SSLContext | None,
    patience: float = ANSWER_SECONDS,
) -> Iterator[Peer]:
    """Open a socket over an existing connection. The opening and each response may take `patience` seconds."""
    given = {"origin": origin, "subprotocols": [SUBPROTOCOL], "open_timeout": patience}
    with wire(socket_uri, sock=raw, ssl=tls, **given) as connection:
        yield Peer(connection, socket_uri, patience)
