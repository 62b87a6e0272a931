"""A deployment of `chatkey serve`: one process on each of several hosts, with one PostgreSQL and one Redis."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

import asyncpg  # type: ignore[import-untyped]
import httpx
from benchmarks.hosts import stores
from benchmarks.hosts.network import Network, at

from chatkey_lab.guard import bearer
from chatkey_server.settings import load
from chatkey_server.storage import admin, agents, engine, migrate
from chatkey_server.storage.vault import Vault
from chatkey_stack.patience import PATIENCE
from chatkey_stack.process import Process

PORT: Final = 8800
BASE_URL: Final = f"http://localhost:{PORT}"
"""All hosts share this base URL, because every proof contains it."""
PROVIDER: Final = "bench"
SECRET: Final = "only-for-the-benchmark-0123456789abcdef"
AGENT: Final = "grace"
PASSWORD: Final = token_hex(16)
NO_LIMITS: Final = {
    f"CHATKEY_LIMIT_{name}": "0"
    for name in [
        "SOCKETS_PER_ADDRESS",
        "HISTORIES_PER_IDENTITY",
        "HISTORIES_PER_ADDRESS",
        "MESSAGES_PER_IDENTITY",
        "MESSAGES_PER_ADDRESS",
        "MESSAGES_PER_PROVIDER",
        "KILOBYTES_PER_IDENTITY",
        "KILOBYTES_PER_ADDRESS",
        "KILOBYTES_PER_PROVIDER",
    ]
}
LAB_TOKEN: Final = token_hex(32)
LAB: Final = {"CHATKEY_LAB": "1", "CHATKEY_LAB_TOKEN": LAB_TOKEN}
SERVE: Final = (sys.executable, "-c", "from chatkey_server.commands.serve import serve; serve()")


class Host:
    """A network namespace that runs one server."""

    def __init__(self, name: str, address: str, environ: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.address = address
        self.environ = environ
        self.log = log
        self._server = Process(name, at(name, *SERVE), environ=environ, log=log, ready_within=2 * PATIENCE)

    @property
    def pid(self) -> int:
        return self._server.pid

    @contextmanager
    def running(self) -> Iterator[None]:
        with self._server:
            yield

    def begin(self) -> None:
        self._server.start()

    def wait(self) -> None:
        """Wait until the server accepts requests."""
        self._server.wait_ready()

    def end(self) -> None:
        """Stop the server, and wait until it has exited."""
        self._server.stop()

    @contextmanager
    def killed(self) -> Iterator[None]:
        """Kill the server, and start the server again when the context ends."""
        os.kill(self.pid, signal.SIGKILL)
        yield
        self._server.restart()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Suspend the server with SIGSTOP during the context. The server's connections stay open."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    @contextmanager
    def ended(self) -> Iterator[None]:
        """Stop the server with SIGTERM, as for an upgrade. At the end of the context, start the server again."""
        self._server.stop()
        yield
        self._server.restart()

    def processor_seconds(self) -> float:
        """Return the processor time that the server has used."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9

    def memory(self) -> int:
        """Return the server's resident memory in bytes."""
        lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))


class Deployment:
    """The hosts and stores of a deployment."""

    def __init__(self, machines: Machines, hosts: list[Host], database_url: str) -> None:
        self.network = machines.network
        self.hosts = hosts
        self.redis = machines.redis
        self.postgres = machines.postgres
        self.disk = machines.disk
        self.database_url = database_url

    async def put_ahead(self, host: Host, seconds: float) -> None:
        """Move the clock of one host forward, so that the clocks of the other hosts are behind."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE, headers=bearer(LAB_TOKEN)) as http:
            answer = await http.post(f"http://{host.address}:{PORT}/lab/clock", json={"advance": seconds})
        answer.raise_for_status()

    async def agents_cookie(self) -> str:
        """Sign the agent in, and return the session cookie."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
            answer = await http.post(
                f"http://{self.hosts[0].address}:{PORT}/agent/sign-in",
                data={"username": AGENT, "password": PASSWORD},
                headers={"host": f"localhost:{PORT}", "origin": BASE_URL},
            )
        (cookie,) = answer.cookies.items()
        return "=".join(cookie)


class Machines:
    """The network and the stores, on which one deployment after another is started."""

    def __init__(self, folder: Path, most_hosts: int) -> None:
        self.folder = folder
        self._names = [f"host{number}" for number in range(1, most_hosts + 1)]
        self.network = Network("redis", "postgres", "proxy", *self._names, here="clients")
        self.disk = stores.Disk(folder / "disk")
        self.redis = stores.redis(self.network.address("redis"), folder)
        self.postgres = stores.postgres(self.network.address("postgres"), folder)

    @contextmanager
    def running(self) -> Iterator[None]:
        with ExitStack() as ending:
            ending.enter_context(self.disk.mounted())
            for store in (self.redis, self.postgres):
                ending.callback(store.kill)
                store.start()
            yield

    @asynccontextmanager
    async def deployment(
        self, hosts: int, *, lab: bool = False, on_small_disk: bool = False
    ) -> AsyncIterator[Deployment]:
        """Run a deployment with a new, empty database. With `lab`, the clocks of the deployment can be moved."""
        database = await self.new_database(on_small_disk=on_small_disk)
        environ = {
            **os.environ,
            **NO_LIMITS,
            "CHATKEY_BASE_URL": BASE_URL,
            "CHATKEY_HOST": "0.0.0.0",
            "CHATKEY_PORT": str(PORT),
            "CHATKEY_DATABASE_URL": database,
            "CHATKEY_REDIS_URL": f"redis://{self.network.address('redis')}",
            "CHATKEY_MASTER_KEY": token_hex(32),
            "CHATKEY_LOG_LEVEL": "warning",
            **(LAB if lab else {}),
            "CHATKEY_LIMIT_FRAMES_PER_SECOND": "1000000",
        }
        await _prepare(environ)
        made = [self._host(name, environ) for name in self._names[:hosts]]
        with ExitStack() as ending:
            for host in made:
                ending.callback(host.end)
                host.begin()
            for host in made:
                await asyncio.to_thread(host.wait)
            yield Deployment(self, made, database)

    async def new_database(self, *, on_small_disk: bool = False) -> str:
        """Create an empty database, and return its address."""
        server, name = f"postgresql://postgres@{self.network.address('postgres')}", f"bench_{token_hex(4)}"
        connection = await asyncpg.connect(f"{server}/postgres")
        try:
            if on_small_disk and not await connection.fetch(
                f"SELECT FROM pg_tablespace WHERE spcname = '{stores.SMALL}'"
            ):
                await connection.execute(f"CREATE TABLESPACE {stores.SMALL} LOCATION '{self.disk.folder}'")
            place = f" TABLESPACE {stores.SMALL}" if on_small_disk else ""
            await connection.execute(f"CREATE DATABASE {name}{place}")
        finally:
            await connection.close()
        return f"{server}/{name}"

    def _host(self, name: str, environ: Mapping[str, str]) -> Host:
        own = {**environ, "CHATKEY_DATA_DIR": str(self.folder / name)}
        return Host(name, self.network.address(name), own, self.folder / f"{name}.log")


async def _prepare(environ: Mapping[str, str]) -> None:
    settings = load(environ)
    async with engine.opened(settings.database):
        await migrate.migrate()
        await admin.add_provider(Vault.of(settings), now=time.time(), id=PROVIDER, secret_key=SECRET)
        await agents.add_agent(AGENT, PASSWORD)
