"""Tests which errors of the database drivers count as an unavailable database."""

from __future__ import annotations

import sqlite3
import tomllib
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from asyncpg import exceptions as pg  # type: ignore[import-untyped]
from asyncpg.exceptions import _base  # type: ignore[import-untyped]

from chatkey_protocol.codes import Code
from chatkey_server import logs
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.availability import POSTGRES_OUTAGES, SQLITE_OUTAGES, Outages, available, is_away

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTAGES: Final[dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("outages.toml").read_text(encoding="utf-8")
)
ROOTS: Final = (_base.PostgresMessage, _base.InterfaceMessage, _base.InternalClientError)


def _full_disk(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA max_page_count = 1")
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")


def _not_a_database(path: Path) -> None:
    path.write_bytes(b"not a database at all, whatever its name says" * 100)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT 1 FROM sqlite_master")


def _read_only(path: Path) -> None:
    sqlite3.connect(path).close()
    path.touch()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.execute("CREATE TABLE t (x)")


def _emptied(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT 1 FROM provider")


@pytest.mark.contract("D-03/unavailable")
@pytest.mark.parametrize("accident", [_full_disk, _not_a_database, _read_only, _emptied])
def test_an_sqlite_file_that_cannot_be_used_is_unavailable(accident: object, tmp_path: Path) -> None:
    assert callable(accident)

    with pytest.raises(Refused) as refused, available():
        accident(tmp_path / "some.sqlite")

    assert (refused.value.code, refused.value.meaning.status) == (Code.UNAVAILABLE, 503)
    assert refused.value.meaning.retryable
    assert isinstance(refused.value.__cause__, sqlite3.DatabaseError)


@pytest.mark.contract("D-03/unavailable")
@pytest.mark.parametrize(
    "error",
    [
        OSError(),
        TimeoutError(),
        pg.ConnectionDoesNotExistError(),
        pg.CannotConnectNowError(),
        pg.AdminShutdownError(),
        pg.TooManyConnectionsError(),
        pg.DiskFullError(),
        pg.DeadlockDetectedError(),
        pg.InvalidPasswordError(),
        pg.InvalidCatalogNameError(),
        pg.UndefinedTableError(),
        pg.InterfaceError("the pool is closed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_postgres_that_cannot_be_used_is_unavailable(error: Exception) -> None:
    with pytest.raises(Refused) as refused, available():
        raise error

    assert (refused.value.code, refused.value.__cause__) == (Code.UNAVAILABLE, error)


@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError('near "SELEC": syntax error'),
        sqlite3.IntegrityError(),
        pg.UniqueViolationError(),
        pg.UndefinedColumnError(),
        pg.DataError("invalid input for query argument $1"),
        ValueError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_errors_are_raised_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, available():
        raise error

    assert raised.value is error


def _family(kind: Any) -> Iterator[Any]:
    yield kind
    for child in kind.__subclasses__():
        yield from _family(child)


def test_the_errors_of_asyncpg_that_are_outages_are_listed() -> None:
    kinds = {kind for root in ROOTS for kind in _family(root) if issubclass(kind, Exception)}
    names = {kind: f"{_sqlstate(kind) or 'driver'} {kind.__name__}" for kind in kinds}

    outages = {names[kind] for kind in kinds if is_away(kind("x"))}

    assert len(kinds) > 250
    assert outages == {*OUTAGES["postgres"]} & {*names.values()}  # another version of asyncpg may lack some
    assert {_sqlstate(kind)[:2] for kind in kinds if _sqlstate(kind)} <= POSTGRES_OUTAGES.keys()


def _sqlstate(kind: Any) -> str:
    return getattr(kind, "sqlstate", None) or ""


def test_the_result_codes_of_sqlite_that_are_outages_are_listed() -> None:
    numbers = {name: code for name, code in vars(sqlite3).items() if isinstance(code, int)}
    codes = {name: code for name, code in numbers.items() if name.startswith("SQLITE_") and "_DBCONFIG_" not in name}
    extended = {code & 0xFF for code in codes.values() if code > 0xFF}

    assert {codes[name] for name in OUTAGES["sqlite"]} == {code for code, away in SQLITE_OUTAGES.items() if away}
    assert extended <= SQLITE_OUTAGES.keys()


def test_an_extended_result_code_has_the_verdict_of_its_primary_one() -> None:
    error = sqlite3.OperationalError()
    error.sqlite_errorcode = sqlite3.SQLITE_READONLY_DIRECTORY

    assert is_away(error)


@pytest.mark.parametrize(("severity", "is_outage"), [("ERROR", False), ("FATAL", True), ("PANIC", True)])
def test_an_error_that_ends_the_connection_is_an_outage_whatever_its_code(severity: str, is_outage: bool) -> None:
    error = pg.PostgresError.new({"S": severity, "V": severity, "C": "ZZ999", "M": "of a newer server"})

    assert is_away(error) is is_outage


def test_an_outage_is_logged_when_it_begins_and_when_it_is_over_each_once() -> None:
    heard: list[dict[str, object]] = []
    outages = Outages()

    def write(error: Exception | None) -> None:
        with suppress(Refused), outages.noted("write"):
            if error is not None:
                raise error

    with logs.listening(lambda event: heard.append(dict(event))):
        for error in (None, OSError("no route to host"), TimeoutError(), None, None, TimeoutError()):
            write(error)
        with outages.noted("read"):
            pass

    assert [(e["event"], e["doing"], e.get("error"), e.get("reason"), e.get("refused")) for e in heard] == [
        ("database.away", "write", "OSError", "no route to host", None),
        ("database.back", "write", None, None, 2),
        ("database.away", "write", "TimeoutError", "no response in time", None),
    ]
