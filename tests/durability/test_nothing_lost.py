"""Tests that acknowledged messages survive `kill -9` and a restart. Other messages are sent again, and stored once."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Sequence
from typing import Any, Final

import pytest

pytestmark = pytest.mark.long

Fixture = Any

KILLS: Final = {"sqlite": 50, "postgres": 10}
"""How often each kind of server is killed. PostgreSQL itself keeps running, so fewer kills suffice."""
RESTARTS: Final = 3
MOST_ACKS: Final = 30
"""The server is ended after a random number of acknowledgements, at most this, and up to `LATER` seconds later."""
LATER: Final = 0.01


async def written(
    server: Fixture, tabs: Sequence[Fixture], luck: random.Random, by: signal.Signals
) -> list[int | None]:
    """Start a server, end it at a random moment while all tabs write, and return the tabs' close codes."""
    server.start()
    enough, left = asyncio.Event(), luck.randint(1, MOST_ACKS)

    def count() -> None:
        nonlocal left
        left -= 1
        if not left:
            enough.set()

    writing = asyncio.gather(*(tab.write(count) for tab in tabs))
    writing.add_done_callback(lambda _: enough.set())
    await enough.wait()
    await asyncio.sleep(luck.uniform(0, LATER))  # to end the server at a random moment
    ended = await asyncio.to_thread(server.end, by)
    assert ended == (0 if by is signal.SIGTERM else -by)
    return list(await writing)


async def finished(tabs: Sequence[Fixture]) -> None:
    """Send all unacknowledged messages. Each message must be stored once, and must match its acknowledgement."""
    for tab in tabs:
        await tab.finish()
    for person in {tab.person for tab in tabs}:
        async with person.socket() as socket:
            stored = await person.check(socket)
        assert person.acked.keys() == person.sent.keys() == {message["id"] for message in stored}


@pytest.mark.contract("D-15/durable", "D-10/messages")
async def test_every_acknowledged_message_survives_kill_9(server: Fixture, database_kind: str) -> None:
    luck = random.Random(4)
    shop = server.open_shop()
    ada = shop.person("ada")
    tabs = [person.tab(f"tab{number}") for number, person in enumerate((ada, ada, shop.person("bob"), shop.person()))]

    for _ in range(KILLS[database_kind]):
        await written(server, tabs, luck, signal.SIGKILL)
    server.start()

    await finished(tabs)


@pytest.mark.contract("D-15/durable", "D-16/restart-1012")
async def test_a_restart_closes_with_1012_and_loses_nothing(server: Fixture) -> None:
    luck = random.Random(7)
    shop = server.open_shop()
    ada = shop.person("ada")
    tabs = [person.tab(f"tab{number}") for number, person in enumerate((ada, ada, shop.person("bob"), shop.person()))]

    closes = {code for _ in range(RESTARTS) for code in await written(server, tabs, luck, signal.SIGTERM)}
    server.start()

    assert closes <= {1012, None}
    assert 1012 in closes
    await finished(tabs)


@pytest.mark.contract("D-10/messages")
async def test_a_stored_message_whose_acknowledgement_was_lost_is_stored_once(server: Fixture) -> None:
    shop = server.open_shop()
    ada = shop.person("ada")
    first, second = ({"type": "message", "id": name, "body": name} for name in ("first", "second"))

    server.start()
    async with ada.socket() as deaf, ada.socket() as other:
        await deaf.say(first)
        stored = await other.next()
        server.end(signal.SIGKILL)
    server.start()
    async with ada.socket() as socket:
        acks = [await socket.ask(frame) for frame in (first, second, first)]
        history = await ada.history(socket)

    assert [ack["seq"] for ack in acks] == [1, 2, 1]
    assert [(message["id"], message["seq"], message["sent_at"]) for message in history] == [
        ("first", stored["seq"], stored["sent_at"]),
        ("second", 2, acks[1]["sent_at"]),
    ]
