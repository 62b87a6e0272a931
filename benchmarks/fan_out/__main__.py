"""Measures how fast messages reach all pages of a conversation, compared with Socket.IO.

Both services store each message in PostgreSQL before they send it. The peer is Node's Socket.IO with its Redis adapter,
installed from npm into a temporary folder. Two cases are measured: one process with 20 pages, and three processes with
30 pages, which are connected through Redis. One more page sends the messages. Rounds of both services alternate, and a
round fails if a page misses a message. The ratios of p50 and p99 compare all deliveries of all rounds. Processor time
is the time of the services' processes, without PostgreSQL and Redis, for one message. `--quick` runs one short round.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from secrets import token_hex
from statistics import quantiles
from typing import Final

import asyncpg  # type: ignore[import-untyped]
import uvloop
from benchmarks import npm
from benchmarks.fan_out.pages import PROVIDER, SECRET, Ours, Page, SocketIo
from benchmarks.load import NO_LIMITS, SERVE, postgres, redis

from chatkey_protocol.names import SOCKET_PATH
from chatkey_server.settings import load
from chatkey_server.storage import admin, engine, migrate
from chatkey_server.storage.vault import Vault
from chatkey_stack.ports import free_ports
from chatkey_stack.process import Process, ended_in_order

PEERS: Final = ("socket.io@4.8.4", "@socket.io/redis-adapter@8.3.0", "redis@6.3.1", "pg@8.23.1")
SERVER: Final = Path(__file__).with_name("socket_io.cjs")
CASES: Final = {"one_process": (1, 20), "three_processes": (3, 30)}
"""The number of processes and of listening pages."""
TARGET: Final = 1.2
ROUNDS: Final = 6
SECONDS: Final = 8.0
EVERY_SECONDS: Final = 0.05
WARM_SECONDS: Final = 2.0
ARRIVAL_SECONDS: Final = 10.0
NO_QUOTAS: Final = {
    f"CHATKEY_LIMIT_{name}_PER_{of}": "999999999"
    for name in ("MESSAGES", "KILOBYTES")
    for of in ("IDENTITY", "ADDRESS", "PROVIDER")
}
"""The quotas are counted as usual, but never reached."""
MASTER_KEY: Final = token_hex(32)
TABLE: Final = "CREATE TABLE socket_io_message (seq BIGSERIAL PRIMARY KEY, id TEXT UNIQUE NOT NULL, body TEXT NOT NULL)"

_turns = count()


@dataclass
class Service:
    """A service under test: its pages, the first of which sends, and what was measured."""

    processes: Sequence[Process]
    pages: Sequence[Page]
    delays: list[float] = field(default_factory=list)
    sent: int = 0
    processor_seconds: float = 0.0

    async def measure(self, seconds: float) -> None:
        """Send messages for some seconds, and wait until all pages have them."""
        sender, *listeners = self.pages
        before, sent, turn = self._used(), dict[bytes, float](), next(_turns)
        for number in range(round(seconds / EVERY_SECONDS)):
            message_id = f"bench-{turn}-{number}"
            sent[message_id.encode()] = time.perf_counter()
            sender.post(number, message_id)
            await asyncio.sleep(EVERY_SECONDS)
        async with asyncio.timeout(ARRIVAL_SECONDS):
            for page in self.pages:
                await page.has(len(sent))
        self.processor_seconds += self._used() - before
        self.sent += len(sent)
        self.delays += [at - sent[message_id] for page in listeners for message_id, at in page.arrived.items()]
        for page in self.pages:
            page.arrived.clear()

    def forget(self) -> None:
        """Discard the measurements of the warm-up."""
        self.delays.clear()
        self.sent = 0
        self.processor_seconds = 0.0

    def _used(self) -> float:
        return sum(map(processor_seconds, self.processes))


def processor_seconds(process: Process) -> float:
    """Return the processor time that all threads of a process have used."""
    words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run the benchmark, and print the ratios for people, then as one line of JSON for programs."""
    rounds, seconds = (1, 3.0) if "--quick" in sys.argv[1:] else (ROUNDS, SECONDS)
    with ended_in_order(), tempfile.TemporaryDirectory(prefix="chatkey-fan-out-") as name:
        folder = Path(name)
        node, packages = npm.install(folder / "npm", *PEERS)
        os.environ["NODE_PATH"] = str(packages)
        figures: dict[str, dict[str, float]] = {}
        with postgres(folder) as database, redis(folder) as redis_url:
            asyncio.run(prepare(folder, database))
            for case, (processes, pages) in CASES.items():
                with ExitStack() as ending:
                    link = redis_url if processes > 1 else ""
                    ours = ending.enter_context(our_processes(folder, processes, database, link))
                    command = [node, str(SERVER), "PORT", database, link.removeprefix("unix://")]
                    theirs = ending.enter_context(their_processes(folder, processes, command))
                    services = uvloop.run(measure(ours, theirs, uid=case, pages=pages, rounds=rounds, seconds=seconds))
                figures[case] = compared(*services)
                said = ", ".join(f"{what} {value}" for what, value in figures[case].items())
                print(f"  {case:<16} {said} (target of each ratio: {TARGET})", flush=True)
    print(json.dumps({"bench": "fan-out", **figures}))


async def prepare(folder: Path, database: str) -> None:
    """Create the tables of both services, and the provider."""
    settings = load(environment(folder, database))
    async with engine.opened(settings.database):
        await migrate.migrate()
        await admin.add_provider(Vault.of(settings), now=time.time(), id=PROVIDER, secret_key=SECRET)
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(TABLE)
    finally:
        await connection.close()


def environment(folder: Path, database: str) -> dict[str, str]:
    return {
        **NO_LIMITS,
        **NO_QUOTAS,
        "CHATKEY_LIMIT_SOCKETS_PER_IDENTITY": "0",
        "CHATKEY_DATA_DIR": str(folder / "data"),
        "CHATKEY_DATABASE_URL": database,
        "CHATKEY_MASTER_KEY": MASTER_KEY,
    }


Running = tuple[Sequence[Process], Sequence[int], str]
"""Processes, their ports, and the base URL, which every proof contains."""


@contextmanager
def our_processes(folder: Path, count: int, database: str, link: str) -> Iterator[Running]:
    ports = free_ports(count)
    base_url = f"http://localhost:{ports[0]}"
    common = environment(folder, database) | {"CHATKEY_BASE_URL": base_url, "CHATKEY_REDIS_URL": link}
    with ExitStack() as ending:
        yield (
            [
                ending.enter_context(
                    Process(
                        f"chatkey-{port}",
                        SERVE,
                        environ=os.environ | common | {"CHATKEY_PORT": str(port)},
                        log=folder / f"{port}.log",
                    )
                )
                for port in ports
            ],
            ports,
            base_url,
        )


@contextmanager
def their_processes(folder: Path, count: int, command: Sequence[str]) -> Iterator[Running]:
    ports = free_ports(count)
    with ExitStack() as ending:
        yield (
            [
                ending.enter_context(
                    Process(
                        f"socket.io-{port}",
                        [str(port) if word == "PORT" else word for word in command],
                        environ=os.environ,
                        log=folder / f"{port}.log",
                    )
                )
                for port in ports
            ],
            ports,
            "",
        )


async def measure(
    ours: Running, theirs: Running, *, uid: str, pages: int, rounds: int, seconds: float
) -> tuple[Service, Service]:
    """Open the pages of both services, and measure the services in alternating rounds.

    Each case has a member of its own, because a new page is sent the recent messages of its conversation.
    """
    processes, ports, base_url = ours
    address = f"{base_url.replace('http', 'ws', 1)}{SOCKET_PATH}"
    mine = Service(
        processes,
        [await Ours.opened(ports[number % len(ports)], address=address, uid=uid) for number in range(pages + 1)],
    )
    processes, ports, _ = theirs
    peer = Service(processes, [await SocketIo.opened(ports[number % len(ports)]) for number in range(pages + 1)])
    both = (mine, peer)
    for service in both:
        await service.measure(WARM_SECONDS)
        service.forget()
    for number in range(rounds):
        for service in both if number % 2 else reversed(both):
            await service.measure(seconds)
    for service in both:
        for page in service.pages:
            page.close()
    return both


def compared(ours: Service, theirs: Service) -> dict[str, float]:
    figures: dict[str, float] = {}
    for place, name in ((49, "p50"), (98, "p99")):
        mine, peer = (quantiles(service.delays, n=100)[place] for service in (ours, theirs))
        figures |= {f"{name}_ratio": mine / peer, f"{name}_ms": mine * 1e3, f"{name}_socket_io_ms": peer * 1e3}
    mine, peer = (service.processor_seconds / service.sent for service in (ours, theirs))
    figures |= {"processor_ratio": mine / peer, "processor_ms": mine * 1e3, "processor_socket_io_ms": peer * 1e3}
    return {name: round(value, 2) for name, value in figures.items()}


if __name__ == "__main__":
    main()
