"""Tests of the command `chatkey db`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


def test_migrate_makes_the_tables_once(run_embedded: Run, tmp_path: Path) -> None:
    first, second = run_embedded("db", "migrate"), run_embedded("db", "migrate")

    assert first.exit_code == second.exit_code == 0
    assert first.output.count("\n") >= 2
    assert first.output.startswith("ran ")
    assert second.output == "The database is up to date already.\n"
    assert (tmp_path / "data" / "chatkey.sqlite").exists()


def test_status_tells_what_is_missing(run_embedded: Run) -> None:
    before = run_embedded("db", "status")
    run_embedded("db", "migrate")
    after = run_embedded("db", "status")

    assert before.exit_code == 1
    assert "missing " in before.output
    assert "run `chatkey db migrate`" in before.output
    assert (after.exit_code, after.output) == (0, "The database is up to date.\n")


@pytest.mark.contract("D-15/migrations")
def test_a_database_that_is_not_the_embedded_one_must_be_migrated_first(
    run_embedded: Run, environ: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ.setenv("CHATKEY_DATABASE_URL", f"sqlite:///{tmp_path / 'mine.sqlite'}")

    before = run_embedded("provider", "list")
    run_embedded("db", "migrate")
    after = run_embedded("provider", "list")

    assert before.exit_code == 2
    assert "run `chatkey db migrate`, then start again" in before.output
    assert after.exit_code == 0


@pytest.mark.contract("D-15/sealed")
def test_after_resealing_the_old_master_key_can_go(run: Run, environ: pytest.MonkeyPatch) -> None:
    run("provider", "add", "--id", "p")
    run("provider", "rotate-secret", "p")
    run("provider", "social", "p", "google", "--client-id", "id", stdin="client-secret\n")
    new, old = "n" * 32, "m" * 32

    environ.setenv("CHATKEY_MASTER_KEY", new)
    refused = run("db", "reseal")
    environ.setenv("CHATKEY_MASTER_KEY", f"{new},{old}")
    resealed = run("db", "reseal")
    environ.setenv("CHATKEY_MASTER_KEY", new)
    minted = run(
        "token", "mint", "--provider", "p", "--uid", "u", "--jkt", "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
    )

    assert refused.exit_code == 2
    assert "CHATKEY_MASTER_KEY (not shown) does not decrypt" in refused.output
    assert resealed.output == "Sealed 3 secrets under the current master key.\n"
    assert minted.exit_code == 0


def test_a_foreign_database_is_left_unchanged(run_embedded: Run, tmp_path: Path) -> None:
    file = tmp_path / "data" / "chatkey.sqlite"
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE agent (mine TEXT)")

    result = run_embedded("db", "migrate")

    assert result.exit_code == 2
    assert "already exists); set the address of a database that only chatkey uses" in result.output
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("agent",)]
