"""An acknowledged message survives `kill -9` of the server; one that was not is sent again, and stored once."""

from __future__ import annotations

import asyncio
import random
import signal
from typing import Any, Final

import pytest

Fixture = Any

KILLS: Final = {"sqlite": 50, "postgres": 10}
"""How often a server with each kind of database is killed. PostgreSQL itself lives on, and needs less to show it."""
MOST_ACKS: Final = 30
"""The server is killed after fewer messages than this were acknowledged, and up to `LATER` seconds."""
LATER: Final = 0.01


async def enough(acks: asyncio.Queue[str], count: int, writing: asyncio.Future[list[None]]) -> None:
    """Wait until so many messages were acknowledged; whatever ends the writing before is raised."""

    async def counted() -> None:
        for _ in range(count):
            await acks.get()

    counting = asyncio.create_task(counted())
    await asyncio.wait([counting, writing], return_when=asyncio.FIRST_COMPLETED)
    if not counting.done():
        counting.cancel()
        raise AssertionError(f"the server went by itself: {await writing}")


@pytest.mark.contract("D-15/durable", "D-10/messages")
async def test_what_was_acknowledged_survives_kill_9_and_what_was_not_is_resent_and_stored_once(
    database_kind: str,
    database_settings: dict[str, str],
    make_server: Fixture,
    open_shop: Fixture,
    make_person: Fixture,
) -> None:
    luck = random.Random(4)
    with make_server(**database_settings) as server:
        shop = open_shop(server)
        ada, bob, visitor = make_person(shop, "ada"), make_person(shop, "bob"), make_person(shop)
        tabs = [Tab(person, f"tab{number}") for number, person in enumerate((ada, ada, bob, visitor))]

        for _ in range(KILLS[database_kind]):
            server.start()
            acks: asyncio.Queue[str] = asyncio.Queue()
            writing = asyncio.gather(*(tab.write(acks) for tab in tabs))
            await enough(acks, luck.randrange(MOST_ACKS), writing)
            await asyncio.sleep(luck.uniform(0, LATER))  # the moment is what is random; nothing is waited for
            assert server.end(signal.SIGKILL) == -signal.SIGKILL
            await writing
        server.start()
        for tab in tabs:
            await tab.finish()

        for person in (ada, bob, visitor):
            async with person.socket() as socket:
                stored = await person.check(socket)
            assert person.acked.keys() == person.sent.keys() == {message["id"] for message in stored}
        assert sum(tab.stored_unheard for tab in tabs) > 0, "no kill came between a message and its acknowledgement"
        assert server.end() == 0
