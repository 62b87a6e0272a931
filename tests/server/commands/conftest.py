"""Fixtures that run the command line in this process, on a fresh database of each kind."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chatkey.cli import GROUP, Commands

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
MASTER_KEY = "m" * 32

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def commands() -> Commands:
    """The command line with the commands that pyproject.toml declares. The package need not be installed."""
    announced = tomllib.loads(PYPROJECT.read_text())["project"]["entry-points"][GROUP]
    found = [EntryPoint(name, value, GROUP) for name, value in announced.items()]
    return Commands("chatkey", find=lambda: found)


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment with a data folder, without this machine's own settings."""
    for name in list(os.environ):
        if name.startswith("CHATKEY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CHATKEY_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    return monkeypatch


@pytest.fixture
def run(commands: Commands, environ: pytest.MonkeyPatch, database_url: str) -> Run:
    """Run `chatkey …` on a fresh, migrated database. Each test runs once with each kind of database."""
    environ.setenv("CHATKEY_DATABASE_URL", database_url)
    environ.setenv("CHATKEY_MASTER_KEY", MASTER_KEY)
    return _runner(commands)


@pytest.fixture
def run_embedded(commands: Commands, environ: pytest.MonkeyPatch) -> Run:
    """Run `chatkey …` with only the data folder set."""
    return _runner(commands)


def _runner(commands: Commands) -> Run:
    def run(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(commands, arguments, input=stdin, prog_name="chatkey")

    return run
