"""A database that is away is an answer (503, try again), not an accident."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import structlog
from asyncpg import exceptions as pg  # type: ignore[import-untyped]

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused

SQLITE_CODES: Final = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}

POSTGRES_ERRORS: Final = (
    pg.InsufficientResourcesError,
    pg.InvalidAuthorizationSpecificationError,
    pg.InvalidCatalogNameError,
    pg.OperatorInterventionError,
    pg.PostgresConnectionError,
    pg.TransactionRollbackError,
    pg.UndefinedTableError,
)

Doing = Literal["read", "write"]
Trouble = Literal["database.away", "database.busy"]

log = structlog.get_logger("chatkey.database")


def is_away(error: BaseException) -> bool:
    """Tell whether a driver's error means that the database is gone, locked, full, restarting or without its tables."""
    if isinstance(error, sqlite3.DatabaseError):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary result code
        return code in SQLITE_CODES or str(error).startswith("no such table")
    if isinstance(error, pg.InterfaceError):
        return not isinstance(error, ValueError)  # that one is for an argument that does not fit its column
    return isinstance(error, (OSError, *POSTGRES_ERRORS))


class Busy(TimeoutError):
    """The database is there, and all ways to it are taken by others."""


class Outages:
    """Tells the log that the database cannot be read or written any more, and that it can again; each once."""

    def __init__(self) -> None:
        self._refused: dict[Doing, Counter[Trouble]] = {"read": Counter(), "write": Counter()}

    @contextmanager
    def noted(self, doing: Doing) -> Iterator[None]:
        """Do as `available` does, and note whether the database was there."""
        try:
            with available():
                yield
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                self._note(doing, refused.__cause__)
            raise
        if count := self._refused[doing].total():
            self._refused[doing].clear()
            log.warning("database.back", doing=doing, refused=count)

    def _note(self, doing: Doing, error: BaseException | None) -> None:
        trouble: Trouble = "database.busy" if isinstance(error, Busy) else "database.away"
        if not self._refused[doing][trouble]:
            log.error(trouble, doing=doing, error=type(error).__name__, reason=str(error) or "no answer in time")
        self._refused[doing][trouble] += 1


@contextmanager
def available() -> Iterator[None]:
    """Turn a database that is away into `Refused(unavailable)`; the driver's own words stay its `__cause__`."""
    try:
        yield
    except Exception as error:
        if not is_away(error):
            raise
        raise Refused(Code.UNAVAILABLE, "The database cannot be reached; try again in a moment.") from error
