"""Measures how fast sockets are accepted, with a check of token and proof, compared with a bare Litestar handler.

The bare `@websocket` handler accepts, sends, receives, sends and closes, with frames of the same sizes. It runs under
plain uvicorn: one process, httptools, `websockets-sansio` without compression. `chatkey serve` runs with default
settings and logs to a file. A proof needs the server's nonce, so the client must sign during the measurement. To make
the server the bottleneck, the client uses no WebSocket library, and keys and tokens are made beforehand. The client's
share of processor time is printed as a check. Rounds are interleaved. The ratio is the median of the rounds' ratios.
The ratio of the servers' processor time is reported as well. On a busy machine only this ratio is meaningful.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, Final, cast

import uvicorn
import uvloop
from benchmarks.tokens import processor_seconds
from litestar import Litestar, WebSocket, websocket

from chatkey_peer.key import BrowserKey, b64, dumps
from chatkey_protocol.names import SOCKET_PATH, SUBPROTOCOL
from chatkey_server.identity.tokens import Profile, Secrets, mint_custom
from chatkey_server.settings import Settings, load
from chatkey_server.storage import admin, engine, migrate
from chatkey_server.storage.vault import Vault
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process

ROUNDS: Final = 20
CONNECTIONS: Final = 500
AT_ONCE: Final = 16
KEYS: Final = 200
TARGET: Final = 0.7
PATIENCE_SECONDS: Final = 60

PROVIDER: Final = "bench"
SECRET: Final = "only-for-the-benchmark-0123456789abcdef"
BARE_HELLO: Final = json.dumps({"type": "hello", "nonce": "n" * 32, "server_time": 1, "auth_timeout": 10, "ping": 25})
BARE_READY: Final = json.dumps({"type": "ready", "identity": "member", "uid": "u", "expires_at": 1, "server_time": 1})
CLOSE: Final = b"\x88\x82" + bytes(4) + (1000).to_bytes(2, "big")
NONCE: Final = re.compile(rb'"nonce": ?"([^"]+)"')


def main() -> None:
    """Run the benchmark, or with `--bare` only the bare server."""
    if sys.argv[1:2] == ["--bare"]:
        run_bare(int(sys.argv[2]))
        return
    ours, bare = free_ports(2)
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "CHATKEY_DATA_DIR": folder,
            "CHATKEY_PORT": str(ours),
            "CHATKEY_BASE_URL": f"http://localhost:{ours}",
        }
        asyncio.run(prepare(load(environ)))
        widgets = [Widget(number, ours) for number in range(KEYS)]
        serve = [sys.executable, "-c", "from chatkey_server.commands.serve import serve; serve()"]
        alone = [sys.executable, "-m", "benchmarks.connect", "--bare", str(bare)]
        with (
            Process("chatkey", serve, environ=os.environ | environ, log=Path(folder) / "ours.log") as served,
            Process("bare", alone, environ=os.environ, log=Path(folder) / "bare.log") as served_bare,
        ):
            targets = {"ours": (ours, served.pid), "bare": (bare, served_bare.pid)}
            report(uvloop.run(measure(targets, widgets)))


async def prepare(settings: Settings) -> None:
    """Create the provider whose members connect."""
    async with engine.opened(settings.database):
        await migrate.migrate()
        await admin.add_provider(Vault.of(settings), now=time.time(), id=PROVIDER, secret_key=SECRET)


def run_bare(port: int) -> None:
    """Serve the bare handler, with which the benchmark compares."""

    @websocket(SOCKET_PATH)
    async def bare(socket: WebSocket[Any, Any, Any]) -> None:
        await socket.accept(subprotocols=SUBPROTOCOL)
        await socket.send_text(BARE_HELLO)
        await socket.receive_text()
        await socket.send_text(BARE_READY)
        await socket.close()

    app = Litestar([bare], logging_config=None, openapi_config=None)
    print(f"ready http://{LOOPBACK}:{port}", flush=True)
    uvicorn.run(
        app,
        host=LOOPBACK,
        port=port,
        http="httptools",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
    )


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

    def __init__(self, port: int, widget: Widget, *, signs: bool) -> None:
        self._widget = widget
        self._signs = signs
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
            nonce = hello[1].decode()
            self._transport.write(self._widget.connect(nonce) if self._signs else BARE_CONNECT)
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
            rate, busy = await one_round(port, widgets, signs=name == "ours")
            if number >= 0:  # the first round warms up
                figures[name].append(rate)
                figures[f"{name}_client"].append(busy)
                figures[f"{name}_server"].append(processor_seconds(pid) - used)
    return figures


async def one_round(port: int, widgets: list[Widget], *, signs: bool) -> tuple[float, float]:
    """Open the connections of a round, several at a time. Return connections per second and the client's CPU share."""
    waiting = iter(range(CONNECTIONS))
    turn = cycle(widgets)

    async def some() -> None:
        loop = asyncio.get_running_loop()
        for _ in waiting:
            client = Client(port, next(turn), signs=signs)
            await loop.create_connection(partial(_same, client), LOOPBACK, port)
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
    ratio = median(ours / bare for ours, bare in zip(figures["ours"], figures["bare"], strict=True))
    print(f"Accepted sockets, {CONNECTIONS} per round, {AT_ONCE} at once, {KEYS} keys (median of {ROUNDS} rounds)")
    for name, what in (("bare", "Litestar handler, nothing checked"), ("ours", "token and proof checked")):
        rate, busy = median(figures[name]), median(figures[f"{name}_client"])
        print(f"  {name:<5} {rate:>7.0f}/s   {what}; the client used {busy:.0%} of a CPU core")
    used = zip(figures["ours_server"], figures["bare_server"], strict=True)
    cpu_ratio = median(bare / ours for ours, bare in used)
    print(f"  ours / bare: {ratio:.2f}; by processor time {cpu_ratio:.2f} (target: {TARGET})")
    rates = {name: round(median(figures[name])) for name in ("ours", "bare")}
    line = {"bench": "connect", "ratio": round(ratio, 3), "cpu_ratio": round(cpu_ratio, 3), "per_second": rates}
    print(json.dumps(line))


def _same(client: Client) -> Client:
    return client


def _text_frame(payload: bytes) -> bytes:
    # A mask of zeros is valid. It costs this client nothing, but costs the server as much as any other mask.
    return b"\x81" + (0x80 | 126).to_bytes(1, "big") + len(payload).to_bytes(2, "big") + bytes(4) + payload


BARE_CONNECT: Final = _text_frame(b"x" * 1250)

if __name__ == "__main__":
    main()
