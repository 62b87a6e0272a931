"""Decides whether a driver's error is an outage of the database (503, try again) or a bug of the server (500)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal

import structlog
from asyncpg import exceptions as pg  # type: ignore[import-untyped]

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused

SQLITE_OUTAGES: Final[Mapping[int, bool]] = {
    sqlite3.SQLITE_OK: False,
    sqlite3.SQLITE_ERROR: False,
    sqlite3.SQLITE_INTERNAL: True,
    sqlite3.SQLITE_PERM: True,
    sqlite3.SQLITE_ABORT: False,
    sqlite3.SQLITE_BUSY: True,
    sqlite3.SQLITE_LOCKED: True,
    sqlite3.SQLITE_NOMEM: True,
    sqlite3.SQLITE_READONLY: True,
    sqlite3.SQLITE_INTERRUPT: True,
    sqlite3.SQLITE_IOERR: True,
    sqlite3.SQLITE_CORRUPT: True,
    sqlite3.SQLITE_NOTFOUND: False,
    sqlite3.SQLITE_FULL: True,
    sqlite3.SQLITE_CANTOPEN: True,
    sqlite3.SQLITE_PROTOCOL: True,  # another process holds the locks of the WAL
    sqlite3.SQLITE_EMPTY: False,
    sqlite3.SQLITE_SCHEMA: True,  # another process changed the tables while the statement ran
    sqlite3.SQLITE_TOOBIG: False,
    sqlite3.SQLITE_CONSTRAINT: False,
    sqlite3.SQLITE_MISMATCH: False,
    sqlite3.SQLITE_MISUSE: False,
    sqlite3.SQLITE_NOLFS: True,
    sqlite3.SQLITE_AUTH: False,
    sqlite3.SQLITE_FORMAT: False,
    sqlite3.SQLITE_RANGE: False,
    sqlite3.SQLITE_NOTADB: True,
    sqlite3.SQLITE_NOTICE: False,
    sqlite3.SQLITE_WARNING: False,
    sqlite3.SQLITE_ROW: False,
    sqlite3.SQLITE_DONE: False,
}
"""SQLite's primary result codes (https://sqlite.org/rescode.html)."""

POSTGRES_OUTAGES: Final[Mapping[str, bool]] = {
    "01": False,  # warning
    "02": False,  # no data
    "03": False,  # SQL statement not yet complete
    "08": True,  # connection; poolers use it too
    "09": False,  # triggered action
    "0A": False,  # feature not supported
    "0B": False,  # invalid transaction initiation
    "0F": False,  # locator
    "0L": False,  # invalid grantor
    "0P": False,  # invalid role
    "0Z": False,  # diagnostics
    "10": False,  # XQuery
    "20": False,  # case not found
    "21": False,  # cardinality
    "22": False,  # data
    "23": False,  # integrity constraint
    "24": False,  # invalid cursor state
    "25": False,  # invalid transaction state
    "25006": True,  # read-only: a standby, or default_transaction_read_only
    "25P03": True,  # idle_in_transaction_session_timeout
    "25P04": True,  # transaction_timeout
    "26": True,  # a prepared statement is missing: a pooler switched to another connection
    "27": False,  # triggered data change
    "28": True,  # the user or the password is no longer accepted
    "2B": False,  # dependent privileges
    "2D": False,  # invalid transaction termination
    "2F": False,  # SQL routine
    "34": False,  # invalid cursor name
    "38": False,  # external routine
    "39": False,  # external routine invocation
    "3B": False,  # savepoint
    "3D": True,  # the database no longer exists
    "3F": True,  # the schema no longer exists
    "40": True,  # rolled back: a deadlock, or a conflict with another transaction or with recovery
    "42": False,  # syntax or access
    "42501": True,  # a privilege is missing
    "42P01": True,  # a table was dropped, or does not exist yet
    "42P05": True,  # a prepared statement exists already: a pooler switched to another connection
    "44": False,  # WITH CHECK OPTION
    "53": True,  # disk, memory or connections are exhausted
    "54": False,  # program limit
    "54000": True,  # PostgreSQL accepts no writes until a VACUUM has prevented a wraparound
    "55": True,  # not in the prerequisite state: a lock is not available, or no connections are allowed
    "55P02": False,  # parameter cannot be changed now
    "55P04": False,  # unsafe use of a new enum value
    "57": True,  # an operator intervened: shutdown, start, cancelled statement, dropped database
    "58": True,  # the server's system: I/O, a missing file
    "72": True,  # snapshot too old
    "F0": True,  # the server's configuration file
    "HV": True,  # foreign tables: we have none
    "P0": False,  # PL/pgSQL
    "XX": True,  # internal error, corrupted data; poolers use it too
}
"""PostgreSQL's classes of SQLSTATE, and single codes that differ from their class (manual, appendix A)."""

DRIVER_OUTAGES: Final[tuple[tuple[type[Exception], bool], ...]] = (
    (OSError, True),
    (pg.InvalidCachedStatementError, True),  # a migration changed the table; asyncpg then forgets the statement
    (pg.OutdatedSchemaCacheError, True),
    (pg.TargetServerAttributeNotMatched, True),  # none of several hosts accepts writes
    (pg.ProtocolError, True),
    (pg.InternalClientError, True),  # the server ended the session, and asyncpg waits for the end of the connection
    (pg.ClientConfigurationError, True),  # a certificate's file is missing
    (pg.UnsupportedClientFeatureError, False),
    (pg.UnsupportedServerFeatureError, False),
    (ValueError, False),  # asyncpg's own DataError: an argument that does not fit its column
    (pg.InterfaceError, True),  # the connection or the pool is closed
    (Warning, False),
)
"""Errors without a code, and errors whose type decides more than their code. The first match decides."""

Doing = Literal["read", "write"]
Trouble = Literal["database.away", "database.busy"]

log = structlog.get_logger("chatkey.database")


def is_away(error: BaseException) -> bool:
    """Return whether the state of the database caused an error, so that the same request may succeed later."""
    if isinstance(error, sqlite3.DatabaseError):
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the low byte is the primary code
        return SQLITE_OUTAGES.get(code, False) or str(error).startswith("no such table")
    for kind, is_outage in DRIVER_OUTAGES:
        if isinstance(error, kind):
            return is_outage
    return isinstance(error, pg.PostgresError) and _is_outage(error)


def _is_outage(error: Any) -> bool:  # asyncpg sets its errors' attributes at run time
    if error.severity_en in {"FATAL", "PANIC"}:  # the server ended the connection: that is not about our statement
        return True
    sqlstate = error.sqlstate or ""
    return POSTGRES_OUTAGES.get(sqlstate, POSTGRES_OUTAGES.get(sqlstate[:2], False))


def is_stale(error: BaseException) -> bool:
    """Return whether the connection is lost, or leads to a server that is no longer the primary."""
    lost = (ConnectionError, pg.InterfaceError, pg.InternalClientError, pg.PostgresConnectionError)
    is_ended = getattr(error, "severity_en", None) in {"FATAL", "PANIC"}
    return is_away(error) and (is_ended or isinstance(error, (*lost, pg.ReadOnlySQLTransactionError)))


class Busy(TimeoutError):
    """The database is available, but all of its connections or its write lock are in use."""


class Outages:
    """Logs once when the database becomes unavailable for reading or writing, and once when it is available again."""

    def __init__(self) -> None:
        self._refused: dict[Doing, Counter[Trouble]] = {"read": Counter(), "write": Counter()}

    @contextmanager
    def noted(self, doing: Doing) -> Iterator[None]:
        """Convert errors as `available` does, and record whether the database was available."""
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
            log.error(trouble, doing=doing, error=type(error).__name__, reason=str(error) or "no response in time")
        self._refused[doing][trouble] += 1


@contextmanager
def available() -> Iterator[None]:
    """Convert an outage of the database to `Refused(unavailable)`. The driver's error becomes its `__cause__`."""
    try:
        yield
    except Exception as error:
        if not is_away(error):
            raise
        raise Refused(Code.UNAVAILABLE, "The database cannot be reached; try again in a moment.") from error
