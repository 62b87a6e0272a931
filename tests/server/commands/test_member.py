"""Tests of `chatkey member erase` without Redis. `socket/test_erasure.py` tests the command beside a running server."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import Result

Run = Callable[..., Result]


def test_erasing_prints_what_remains_in_this_kind_of_database(run: Run, database_kind: str) -> None:
    run("provider", "add", "--id", "shop")

    erased = run("member", "erase", "shop", "custom", "ada", "--yes")

    assert erased.exit_code == 0
    assert "Backups of the database" in erased.output
    assert ("VACUUM chat_customer" in erased.output) is (database_kind == "postgres")
    assert ("message_search(message_search)" in erased.output) is (database_kind == "sqlite")


def test_without_redis_erasing_says_that_open_sockets_stay_open(run_embedded: Run, environ: pytest.MonkeyPatch) -> None:
    environ.setenv("CHATKEY_MASTER_KEY", "m" * 32)
    run_embedded("provider", "add", "--id", "shop")

    unset = run_embedded("member", "erase", "shop", "custom", "ada", "--yes")
    environ.setenv("CHATKEY_REDIS_URL", "unix:///nowhere/redis.sock")
    away = run_embedded("member", "erase", "shop", "custom", "ada", "--yes")

    assert (unset.exit_code, away.exit_code) == (0, 0)
    assert "Redis is not configured. Open sockets of this person stay open" in unset.output
    assert "Redis cannot be reached (ConnectionError): Open sockets of this person" in away.output


@pytest.mark.parametrize("login", ["member", "Custom", ""])
def test_an_unknown_login_is_refused(run_embedded: Run, login: str) -> None:
    refused = run_embedded("member", "erase", "shop", login, "ada", "--yes")

    assert refused.exit_code == 2
    assert "is not one of 'visitor', 'custom', 'social'" in refused.output
