"""`chatkey agent`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from click.testing import Result

from chatkey_server.storage import engine
from chatkey_server.storage.agents import check_agent

Run = Callable[..., Result]


def test_an_agent_is_added_with_the_password_from_standard_input(run: Run, database_url: str) -> None:
    result = run("agent", "add", "ada", stdin="correct horse\n")

    async def signs_in() -> bool:
        async with engine.opened(database_url):
            return await check_agent("ada", "correct horse") is not None

    assert (result.exit_code, result.output) == (0, "Agent ada can sign in now.\n")
    assert asyncio.run(signs_in())


@pytest.mark.parametrize(
    ("stdin", "status", "message"),
    [("short\n", 1, "password must have 8 to 1024 characters"), ("", 2, "No password on standard input")],
)
def test_without_a_good_password_no_agent_is_added(stdin: str, status: int, message: str, run_embedded: Run) -> None:
    result = run_embedded("agent", "add", "ada", stdin=stdin)

    assert result.exit_code == status
    assert message in result.output
