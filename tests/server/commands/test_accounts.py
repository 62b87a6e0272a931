"""Tests of the commands `chatkey agent` and `chatkey admin`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from click.testing import Result
from redis import Redis

from chatkey_server.chat.events import AGENT_SESSIONS
from chatkey_server.chat.messages import Message
from chatkey_server.chat.seal import Seal
from chatkey_server.storage import accounts, engine
from chatkey_server.storage.tables import Administrator, Agent
from chatkey_server.storage.vault import Vault
from chatkey_stack.patience import PATIENCE

Run = Callable[..., Result]


def signs_in(database_url: str, table: Any, password: str) -> bool:
    async def check() -> bool:
        async with engine.opened(database_url):
            return await accounts.check(table, "ada", password) is not None

    return asyncio.run(check())


@pytest.mark.parametrize(
    ("command", "table", "told"),
    [
        (
            "agent",
            Agent,
            [
                "Agent ada can sign in now, and answers for all businesses.\n",
                "Agent ada has a new password, and is signed out everywhere.\n",
                "ada is no longer an agent.\n",
            ],
        ),
        (
            "admin",
            Administrator,
            [
                "Administrator ada can sign in at /admin/ now.\n",
                "Administrator ada has a new password, and is signed out everywhere.\n",
                "ada is no longer an administrator.\n",
            ],
        ),
    ],
)
def test_an_account_is_added_changed_and_removed(
    command: str, table: Any, told: list[str], run: Run, database_url: str
) -> None:
    added = run(command, "add", "ada", stdin="correct horse\n")
    first = signs_in(database_url, table, "correct horse")
    changed = run(command, "passwd", "ada", stdin="another horse\n")
    second = [signs_in(database_url, table, password) for password in ("correct horse", "another horse")]
    removed = run(command, "remove", "ada")

    assert [result.output for result in (added, changed, removed)] == told
    assert [result.exit_code for result in (added, changed, removed)] == [0, 0, 0]
    assert (first, second) == (True, [False, True])
    assert not signs_in(database_url, table, "another horse")


def test_the_businesses_of_an_agent_are_printed_listed_and_changed(run: Run) -> None:
    none_yet = run("agent", "list").output
    for provider in ("shop", "bakery"):
        run("provider", "add", "--id", provider)

    added = run("agent", "add", "bob", "--provider", "shop", "--provider", "bakery", stdin="correct horse\n")
    run("agent", "add", "ada", stdin="correct horse\n")
    listed = run("agent", "list").output
    fewer = run("agent", "businesses", "bob", "--provider", "bakery").output
    every = run("agent", "businesses", "bob", "--all").output

    assert none_yet == "No agents yet; add one with `chatkey agent add`.\n"
    assert added.output == "Agent bob can sign in now, and answers for shop, bakery.\n"
    assert listed == "ada  all businesses\nbob  bakery, shop\n"
    assert fewer == "Agent bob answers for bakery now.\n"
    assert every == "Agent bob answers for all businesses now.\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "words"),
    [
        (("agent", "add", "ada"), "short\n", 1, "password must have 8 to 1024 characters"),
        (("agent", "add", "ada"), "", 2, "There is no password on standard input"),
        (("agent", "add", "a b"), "correct horse\n", 1, "username must be 1 to 64"),
        (("agent", "add", "ada", "--provider", "shpo"), "correct horse\n", 1, "There is no provider 'shpo'"),
        (("agent", "passwd", "ada"), "correct horse\n", 1, "'ada' is not the name of an agent"),
        (("agent", "remove", "ada"), None, 1, "'ada' is not the name of an agent"),
        (("agent", "businesses", "ada", "--all"), None, 1, "'ada' is not the name of an agent"),
        (("agent", "businesses", "ada"), None, 2, "with --provider ID (repeatable), or give --all"),
        (
            ("agent", "businesses", "ada", "--all", "--provider", "shop"),
            None,
            2,
            "Name the businesses with --provider ID",
        ),
        (("admin", "add", "ada"), "short\n", 1, "password must have 8 to 1024 characters"),
        (("admin", "add", "a b"), "correct horse\n", 1, "username must be 1 to 64"),
        (("admin", "passwd", "ada"), "correct horse\n", 1, "'ada' is not the name of an administrator"),
        (("admin", "remove", "ada"), None, 1, "'ada' is not the name of an administrator"),
    ],
)
def test_an_impossible_account_is_refused_with_the_reason_and_not_stored(
    arguments: tuple[str, ...], stdin: str | None, status: int, words: str, run_embedded: Run
) -> None:
    result = run_embedded(*arguments, stdin=stdin)

    assert result.exit_code == status
    assert words in result.output
    assert run_embedded("agent", "list").output.startswith("No agents yet")


def test_servers_are_told_through_redis(run_embedded: Run, environ: pytest.MonkeyPatch, redis_url: str) -> None:
    run_embedded("agent", "add", "ada", stdin="correct horse\n")
    environ.setenv("CHATKEY_REDIS_URL", redis_url)
    environ.setenv("CHATKEY_MASTER_KEY", "m" * 32)

    with heard(redis_url, Vault(["m" * 32]).hub_keys) as next_one:
        result = run_embedded("agent", "remove", "ada")

        assert (result.exit_code, result.output) == (0, "ada is no longer an agent.\n")
        assert next_one() == [(AGENT_SESSIONS, b"")]


def test_without_redis_the_change_is_made_with_a_warning(run_embedded: Run, environ: pytest.MonkeyPatch) -> None:
    run_embedded("agent", "add", "ada", stdin="correct horse\n")
    environ.setenv("CHATKEY_REDIS_URL", "unix:///nowhere/redis.sock")
    environ.setenv("CHATKEY_MASTER_KEY", "m" * 32)

    result = run_embedded("agent", "remove", "ada")

    assert result.exit_code == 0
    assert "ada is no longer an agent.\n" in result.output
    assert "Redis cannot be reached" in result.output
    assert "within a second, not at once" in result.output


@contextmanager
def heard(redis_url: str, keys: Sequence[bytes]) -> Iterator[Callable[[], object]]:
    """Listen to the messages between a deployment's processes. Yields a function that waits for the next message."""
    seal = Seal(keys)
    with Redis.from_url(redis_url) as client, client.pubsub() as channel:
        channel.subscribe(*seal.names(AGENT_SESSIONS))
        channel.get_message(timeout=PATIENCE)  # wait for the subscription

        def next_one() -> object:
            message = channel.get_message(timeout=PATIENCE)
            assert message is not None
            opened = seal.open(message["data"])
            assert opened is not None
            told = msgspec.msgpack.decode(opened.payload, type=Message)
            return [(told.channel, said) for said in told.payloads]

        yield next_one
