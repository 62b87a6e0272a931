"""Measures how fast sockets are accepted, with a check of token and proof, compared with a bare Litestar handler.

The bare `@websocket` handler accepts, sends, receives, sends and closes, with frames of the same sizes. It runs under
plain uvicorn: one process, httptools, `websockets-sansio` without compression. The *floor* is the bare handler with the
work that no implementation can avoid: an HMAC of a token, a verification of an ES256 signature, and two log lines. It
is measured in the same run, because this work costs a different share of the time on each machine.

`chatkey serve` runs with default settings. A proof needs the server's nonce, so the client must sign during the
measurement. To make the server the bottleneck, the client uses no WebSocket library, and keys and tokens are made
beforehand. The client's share of processor time is printed as a check. Rounds are interleaved. A ratio is the median of
the rounds' ratios. The ratios of the servers' processor time are reported as well. On a busy machine only these ratios
are meaningful.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, Final, cast

import uvloop
from benchmarks.load import SERVE
from benchmarks.tokens import processor_seconds, serve_bare
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from litestar import Litestar, WebSocket, websocket

from chatkey_peer.key import BrowserKey, b64, dumps
from chatkey_protocol.names import SOCKET_PATH, SUBPROTOCOL
from chatkey_server import logs
from chatkey_server.identity.tokens import Profile, Secrets, mint_custom
from chatkey_server.settings import Limits, Settings, load
from chatkey_server.socket.customer_socket import SocketClosed, SocketReady
from chatkey_server.storage import admin, engine, migrate
from chatkey_server.storage.vault import Vault
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process

ROUNDS: Final = 20
CONNECTIONS: Final = 500
AT_ONCE: Final = 16
KEYS: Final = 200
TARGET: Final = 0.85
PATIENCE_SECONDS: Final = 60

SERVERS: Final = {
    "ours": "token and proof checked",
    "floor": "Litestar handler, only the unavoidable work",
    "bare": "Litestar handler, nothing checked",
}
PROVIDER: Final = "bench"
SECRET: Final = "only-for-the-benchmark-0123456789abcdef"
HELLO: Final = json.dumps({"type": "hello", "nonce": "n" * 32, "server_time": 1, "auth_timeout": 10, "ping": 25})
READY: Final = json.dumps({"type": "ready", "identity": "member", "uid": "u", "expires_at": 1, "server_time": 1})
CLOSE: Final = b"\x88\x82" + bytes(4) + (1000).to_bytes(2, "big")
NONCE: Final = re.compile(rb'"nonce": ?"([^"]+)"')


def main() -> None:
    """Run the benchmark, or with `bare` or `floor` and a port only that server."""
    if sys.argv[1:2] in (["bare"], ["floor"]):
        run_peer(int(sys.argv[2]), unavoidable() if sys.argv[1] == "floor" else lambda: None)
        return
    ports = dict(zip(SERVERS, free_ports(len(SERVERS)), strict=True))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ending:
        environ = {
            "CHATKEY_DATA_DIR": folder,
            "CHATKEY_PORT": str(ports["ours"]),
            "CHATKEY_BASE_URL": f"http://localhost:{ports['ours']}",
        }
        asyncio.run(prepare(load(environ)))
        widgets = [Widget(number, ports["ours"]) for number in range(KEYS)]
        targets = {}
        for name, port in ports.items():
            command = [sys.executable, "-m", "benchmarks.connect", name, str(port)] if name != "ours" else SERVE
            server = Process(name, command, environ=os.environ | environ, log=Path(folder) / f"{name}.log")
            targets[name] = (port, ending.enter_context(server).pid)
        report(uvloop.run(measure(targets, widgets)))


async def prepare(settings: Settings) -> None:
    """Create the provider whose members connect."""
    async with engine.opened(settings.database):
        await migrate.migrate()
        await admin.add_provider(Vault.of(settings), now=time.time(), id=PROVIDER, secret_key=SECRET)


def unavoidable() -> Callable[[], None]:
    """Return a function that does the work that no implementation can avoid for a connection."""
    logs.configure(lines_per_second=Limits().log_lines)
    private, es256, signed = ec.generate_private_key(ec.SECP256R1()), ec.ECDSA(SHA256()), b"s" * 700
    public, signature = private.public_key(), private.sign(signed, es256)

    def work() -> None:
        hmac.digest(SECRET.encode(), signed, "sha256")
        public.verify(signature, signed, es256)
        logs.info(SocketReady(provider=PROVIDER, login="custom", uid="user-1", skew=0.1))
        logs.info(SocketClosed(provider=PROVIDER, login="custom", uid="user-1", seconds=0.1))

    return work


def run_peer(port: int, work: Callable[[], None]) -> None:
    """Serve a bare handler, with which the benchmark compares, and call `work` for each connection."""

    @websocket(SOCKET_PATH)
    async def peer(socket: WebSocket[Any, Any, Any]) -> None:
        await socket.accept(subprotocols=SUBPROTOCOL)
        await socket.send_text(HELLO)
        await socket.receive_text()
        work()
        await socket.send_text(READY)
        await socket.close()

    serve_bare(Litestar([peer], logging_config=None, openapi_config=None), port)


class Widget:
    """A key and a token, which are made beforehand, and the connect frame that answers a nonce."""

    def __init__(self, number: int, port: int) -> None:
        self._key = BrowserKey()
        self._token = mint_custom(
            Secrets(SECRET.encode()),
            pid=PROVIDER,
            uid=f"user-{number}",
            jkt=self._key.jkt,
            profile=Profile(name="Ada Lovelace", email="ada@example.com"),
            now=time.time(),
        )
        self._header = b64(dumps({"typ": "wf-proof+jwt", "alg": "ES256", "jwk": self._key.jwk}))
        self._claims = {
            "jti": f"jti-{number}",
            "iat": int(time.time()),
            "htm": "GET",
            "htu": f"ws://localhost:{port}{SOCKET_PATH}",
            "nonce": "",
            "ath": b64(hashlib.sha256(self._token.encode()).digest()),
        }

    def connect(self, nonce: str) -> bytes:
        """Return the connect frame, ready to be sent."""
        signed = f"{self._header}.{b64(dumps(self._claims | {'nonce': nonce}))}"
        proof = f"{signed}.{b64(self._key.sign(signed.encode()))}"
        return _text_frame(dumps({"type": "connect", "token": self._token, "proof": proof}))


class Client(asyncio.Protocol):
    """One connection, which opens, answers the hello, waits for `ready`, and closes."""

    def __init__(self, port: int, widget: Widget) -> None:
        self._widget = widget
        self.received = b""
        self._answered = False
        self.ready = False
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = (
            f"GET {SOCKET_PATH} HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\nOrigin: http://localhost:{port}\r\n\r\n"
        ).encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not inherit from the class that they implement.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Answer the hello, and close after receiving `ready`."""
        self.received += data
        if not self._answered and (hello := NONCE.search(self.received)):
            self._answered = True
            self._transport.write(self._widget.connect(hello[1].decode()))
        elif self._answered and not self.ready and b'"ready"' in self.received:
            self.ready = True
            self._transport.write(CLOSE)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        self.closed.set_result(None)


async def measure(targets: dict[str, tuple[int, int]], widgets: list[Widget]) -> dict[str, list[float]]:
    """Measure servers, each with its port and process id.

    Returns one value for each round: connections per second, the client's share of processor time, and the server's
    processor seconds.
    """
    figures: dict[str, list[float]] = {f"{name}{what}": [] for name in targets for what in ("", "_client", "_server")}
    for number in range(-1, ROUNDS):
        for name in sorted(targets, reverse=bool(number % 2)):
            port, pid = targets[name]
            used = processor_seconds(pid)
            rate, busy = await one_round(port, widgets)
            if number >= 0:  # the first round warms up
                figures[name].append(rate)
                figures[f"{name}_client"].append(busy)
                figures[f"{name}_server"].append(processor_seconds(pid) - used)
    return figures


async def one_round(port: int, widgets: list[Widget]) -> tuple[float, float]:
    """Open the connections of a round, several at a time. Return connections per second and the client's CPU share."""
    waiting = iter(range(CONNECTIONS))
    turn = cycle(widgets)

    async def some() -> None:
        loop = asyncio.get_running_loop()
        for _ in waiting:
            _, client = await loop.create_connection(partial(Client, port, next(turn)), LOOPBACK, port)
            await client.closed
            if not client.ready:
                raise RuntimeError(f"The server did not accept a connection. It sent: {client.received[-300:]!r}")

    started, worked = time.perf_counter(), time.process_time()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    elapsed = time.perf_counter() - started
    return CONNECTIONS / elapsed, (time.process_time() - worked) / elapsed


def report(figures: dict[str, list[float]]) -> None:
    """Print the figures for people, then one line of JSON for programs."""
    print(f"Accepted sockets, {CONNECTIONS} per round, {AT_ONCE} at once, {KEYS} keys (median of {ROUNDS} rounds)")
    rates = {name: round(median(figures[name])) for name in SERVERS}
    for name, what in SERVERS.items():
        busy = median(figures[f"{name}_client"])
        print(f"  {name:<5} {rates[name]:>7}/s   {what}; the client used {busy:.0%} of a CPU core")
    line: dict[str, object] = {"bench": "connect", "per_second": rates}
    for name in ("floor", "bare"):
        line[f"{name}_ratio"] = rate = ratio(figures["ours"], figures[name])
        line[f"{name}_cpu_ratio"] = cpu = ratio(figures[f"{name}_server"], figures["ours_server"])
        print(f"  ours / {name}: {rate:.2f}; by processor time {cpu:.2f}")
    print(f"  target: {TARGET} of the floor")
    print(json.dumps(line))


def ratio(some: list[float], others: list[float]) -> float:
    return round(median(one / other for one, other in zip(some, others, strict=True)), 3)


def _text_frame(payload: bytes) -> bytes:
    # A mask of zeros is valid. It costs this client nothing, but costs the server as much as any other mask.
    return b"\x81" + (0x80 | 126).to_bytes(1, "big") + len(payload).to_bytes(2, "big") + bytes(4) + payload


if __name__ == "__main__":
    main()
