"""Tests of the command `chatkey admin`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from click.testing import Result

from chatkey_server.storage import accounts, engine
from chatkey_server.storage.tables import Administrator

Run = Callable[..., Result]


def signs_in(database_url: str, password: str) -> bool:
    async def check() -> bool:
        async with engine.opened(database_url):
            return await accounts.check(Administrator, "ada", password) is not None

    return asyncio.run(check())


def test_an_administrator_is_added_changed_and_removed(run: Run, database_url: str) -> None:
    added = run("admin", "add", "ada", stdin="correct horse\n")
    first = signs_in(database_url, "correct horse")
    changed = run("admin", "passwd", "ada", stdin="another horse\n")
    second = (signs_in(database_url, "correct horse"), signs_in(database_url, "another horse"))
    removed = run("admin", "remove", "ada")

    assert (added.exit_code, added.output) == (0, "Administrator ada can sign in at /admin/ now.\n")
    assert (changed.exit_code, removed.exit_code) == (0, 0)
    assert first
    assert second == (False, True)
    assert not signs_in(database_url, "another horse")


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (("add", "ada"), "short\n", "password must have 8 to 1024 characters"),
        (("add", "a b"), "correct horse\n", "username must be 1 to 64"),
        (("passwd", "ada"), "correct horse\n", "'ada' is not the name of an administrator"),
        (("remove", "ada"), None, "'ada' is not the name of an administrator"),
    ],
)
def test_an_impossible_change_is_refused_with_the_reason(
    arguments: tuple[str, ...], stdin: str | None, words: str, run_embedded: Run
) -> None:
    result = run_embedded("admin", *arguments, stdin=stdin)

    assert result.exit_code == 1
    assert words in result.output


def test_a_taken_name_is_refused(run_embedded: Run) -> None:
    run_embedded("admin", "add", "ada", stdin="correct horse\n")

    again = run_embedded("admin", "add", "ada", stdin="another horse\n")

    assert again.exit_code == 1
    assert "'ada' is taken; choose another" in again.output
