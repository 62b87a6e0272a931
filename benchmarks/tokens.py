"""Measures how fast the token endpoints are, compared with a bare Litestar handler that only makes one HS256 token.

The bare handler runs under plain uvicorn: one process with httptools and uvloop, without an access log. `chatkey serve`
runs without rate limits, which would stop the benchmark after 600 requests a minute. The rounds of the three endpoints
are interleaved, so that other load on the machine affects all of them. A ratio is the median of the rounds' ratios. On
Linux both servers are pinned to one CPU and the client to the others, and the requests per second of the server's
processor time are reported as well. On an idle machine the two ratios agree. On a busy machine only the second ratio is
meaningful.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple
from urllib.parse import urlencode

import jwt
import uvicorn
from benchmarks.load import SERVE
from litestar import Litestar, get

from chatkey_protocol.names import MEMBER_TOKEN_PATH, VISITOR_TOKEN_PATH
from chatkey_server.identity.keys import visitor_uid
from chatkey_server.identity.social_uid import SocialUid
from chatkey_server.identity.tokens import Profile, Secrets, mint_identity
from chatkey_server.settings import Settings, load
from chatkey_server.storage import admin, engine, migrate
from chatkey_server.storage.providers import Application
from chatkey_server.storage.vault import Vault
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process

ROUNDS: Final = 40
ROUND_SECONDS: Final = 0.25
CONNECTIONS: Final = 16
TARGET: Final = 0.95
PROCESSORS: Final = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []

PROVIDER: Final = "bench"
SECRET: Final = "only-for-the-benchmark-0123456789abcdef"
JKT: Final = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
BARE_PATH: Final = "/token"


def main() -> None:
    """Run the benchmark, or with `--bare` only the bare server."""
    if sys.argv[1:2] == ["--bare"]:
        run_bare(int(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        ours, bare = free_ports(2)
        environ = {"CHATKEY_DATA_DIR": folder, "CHATKEY_PORT": str(ours), "CHATKEY_LIMIT_TOKEN_RATE": "0"}
        identity_token = asyncio.run(prepare(load(environ)))
        alone = [sys.executable, "-m", "benchmarks.tokens", "--bare", str(bare)]
        with (
            Process("chatkey", SERVE, environ=os.environ | environ, log=Path(folder) / "ours.log") as served,
            Process("bare", alone, environ=os.environ, log=Path(folder) / "bare.log") as served_bare,
        ):
            share_processors(served.pid, served_bare.pid)
            visitor = f"{VISITOR_TOKEN_PATH.format(id=PROVIDER)}?{urlencode({'uid': visitor_uid(JKT)})}"
            member = f"{MEMBER_TOKEN_PATH.format(id=PROVIDER)}?{urlencode({'auth': identity_token, 'jkt': JKT})}"
            targets = {
                "bare": Target(bare, served_bare.pid, BARE_PATH),
                "visitor": Target(ours, served.pid, visitor),
                "member": Target(ours, served.pid, member),
            }
            report(asyncio.run(measure(targets)))


class Target(NamedTuple):
    """The path to request, and the port and the process id of the server."""

    port: int
    pid: int
    path: str


class Round(NamedTuple):
    """The number of responses, the elapsed seconds, and the server's processor seconds (0 if unknown)."""

    answered: int
    seconds: float
    processor_seconds: float


async def prepare(settings: Settings) -> str:
    """Create a provider with social login, and return one of its identity tokens."""
    now, vault = time.time(), Vault.of(settings)
    async with engine.opened(settings.database):
        await migrate.migrate()
        await admin.add_provider(vault, now=now, id=PROVIDER, secret_key=SECRET, domains=["shop.example"])
        await admin.set_application(vault, PROVIDER, "google", Application("client", "secret"), now=now)
        await admin.set_social(PROVIDER, "google", now=now, key_source="own")
    person = Profile(name="Ada Lovelace", email="ada@example.com", avatar="https://people.example/ada.png")
    secrets = Secrets(SECRET.encode())
    return mint_identity(secrets, pid=PROVIDER, uid=SocialUid("google", "1234567890"), profile=person, jkt=JKT, now=now)


def run_bare(port: int) -> None:
    """Serve the bare handler: claims of the same size, PyJWT, Litestar's defaults."""

    @get(BARE_PATH)
    async def token() -> dict[str, str]:
        now = int(time.time())
        claims = {"pid": PROVIDER, "uid": visitor_uid(JKT), "type": "visitor", "iat": now, "exp": now + 120}
        return {"auth_token": jwt.encode(claims, SECRET, algorithm="HS256")}

    serve_bare(Litestar([token], logging_config=None, openapi_config=None), port)


def serve_bare(app: Litestar, port: int) -> None:
    """Serve an application under plain uvicorn. Prints `ready` once connections are accepted."""
    how = uvicorn.Config(
        app, http="httptools", ws="websockets-sansio", ws_per_message_deflate=False, log_config=None, access_log=False
    )
    with socket.create_server((LOOPBACK, port), backlog=how.backlog) as listener:
        print(f"ready http://{LOOPBACK}:{port}", flush=True)
        uvicorn.Server(how).run([listener])


async def measure(targets: dict[str, Target]) -> dict[str, list[Round]]:
    """After a warm-up, send requests to each target for a while, in alternating order."""
    for target in targets.values():
        await load_for(target, ROUND_SECONDS)
    rounds: dict[str, list[Round]] = {name: [] for name in targets}
    for number in range(ROUNDS):
        for name in sorted(targets, reverse=bool(number % 2)):
            rounds[name].append(await load_for(targets[name], ROUND_SECONDS))
    return rounds


class Client(asyncio.Protocol):
    """One connection that repeats its request after every response."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._received = b""
        self.answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count a response when it is complete, and send the request again."""
        self._received += data
        head, _, body = self._received.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"The status is not 200: {self._received[:300]!r}")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"-1")
        if len(body) == length:
            self.answered += 1
            self._received = b""
            self._transport.write(self._request)

    def stop(self) -> None:
        self._transport.abort()


async def load_for(target: Target, seconds: float) -> Round:
    """Send requests to a server for some seconds."""
    host = f"localhost:{target.port}"
    request = f"GET {target.path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n\r\n".encode()
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(lambda: Client(request), "127.0.0.1", target.port) for _ in range(CONNECTIONS)]
    clients = [client for _, client in made]
    answered, processor, started = sum(c.answered for c in clients), processor_seconds(target.pid), time.perf_counter()
    await asyncio.sleep(seconds)
    took = Round(
        sum(client.answered for client in clients) - answered,
        time.perf_counter() - started,
        processor_seconds(target.pid) - processor,
    )
    for client in clients:
        client.stop()
    return took


def processor_seconds(pid: int) -> float:
    """Return the processor time that the threads of a process have used, or 0 if the system does not report it."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def report(rounds: dict[str, list[Round]]) -> None:
    """Print the figures for people, then one line of JSON for programs."""
    ratios = {name: wall_ratio(rounds[name], rounds["bare"]) for name in ("visitor", "member")}
    cpu_ratios = {name: processor_ratio(rounds[name], rounds["bare"]) for name in ("visitor", "member")}
    per_second = {name: round(median(one.answered / one.seconds for one in each)) for name, each in rounds.items()}
    print("Token endpoints, rate limits off, one worker, requests per second (median of rounds)")
    print(f"  {'bare':<8} {per_second['bare']:>7}   only one PyJWT HS256 token")
    for name, ratio in ratios.items():
        print(f"  {name:<8} {per_second[name]:>7}   {ratio:.2f} of bare; by CPU time {cpu_ratios[name]:.2f}")
    least = min(ratios.values())
    print(f"  lower ratio: {least:.2f} (target: {TARGET})")
    figures = {
        "bench": "tokens",
        "ratio": round(least, 3),
        "cpu_ratio": round(min(cpu_ratios.values()), 3),
        "visitor_ratio": round(ratios["visitor"], 3),
        "member_ratio": round(ratios["member"], 3),
        "per_second": per_second,
    }
    print(json.dumps(figures))


def wall_ratio(ours: list[Round], bare: list[Round]) -> float:
    """Return chatkey's requests per second divided by the bare server's, as the median of the rounds."""
    return median(
        (mine.answered / mine.seconds) / (other.answered / other.seconds)
        for mine, other in zip(ours, bare, strict=True)
        if other.answered  # on a very busy machine a server may get no processor time in a round
    )


def processor_ratio(ours: list[Round], bare: list[Round]) -> float:
    """Return the ratio of requests per processor second over all rounds, or 0 if the ratio is unknown."""
    spent = [sum(one.processor_seconds for one in each) for each in (ours, bare)]
    answered = [sum(one.answered for one in each) for each in (ours, bare)]
    return (answered[0] / spent[0]) / (answered[1] / spent[1]) if all(spent) else 0.0


def share_processors(*servers: int) -> None:
    """Pin the servers to the last CPU, and this process (the client) to the other CPUs."""
    if sys.platform == "linux" and len(PROCESSORS) > 1:
        for server in servers:
            os.sched_setaffinity(server, PROCESSORS[-1:])
        os.sched_setaffinity(0, PROCESSORS[:-1])


if __name__ == "__main__":
    main()
