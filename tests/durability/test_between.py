"""Tests of two servers on one PostgreSQL and one Redis. Acknowledged messages must reach every page."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from tests.durability.conftest import Pair, Redis, Watched
from tests.postgres import fetch
from websockets.asyncio.client import connect
from websockets.typing import Origin

from chatkey_server.chat.calls import KEEP_SECONDS, REJOIN_SECONDS
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK

pytestmark = pytest.mark.long

Fixture = Any
Outage = Callable[[Any], AbstractContextManager[None]]

MESSAGES: Final = 20
LIVE_SECONDS: Final = 5 * PATIENCE


@contextmanager
def stopped(redis: Fixture) -> Iterator[None]:
    """Kill Redis. When the context ends, start Redis again without its data."""
    redis.stop()
    yield
    redis.start()


@contextmanager
def paused(redis: Fixture) -> Iterator[None]:
    """Suspend Redis during the context. Redis keeps its connections but does not respond."""
    with redis.paused():
        yield


@contextmanager
def switched(redis: Fixture) -> Iterator[None]:
    """Promote the replica, let the address lead there, and make the old primary a replica. Connections stay open."""
    with split(redis):
        redis.primary.ask("REPLICAOF", LOOPBACK, redis.replica.port)
        yield


@contextmanager
def split(redis: Fixture) -> Iterator[None]:
    """Promote the replica, and let the address lead there. The old primary still accepts writes."""
    redis.replica.ask("REPLICAOF", "NO", "ONE")
    redis.move(redis.replica)
    yield


@contextmanager
def failed_over(redis: Fixture) -> Iterator[None]:
    """Let the Sentinel promote the replica."""
    redis.sentinel.ask("SENTINEL", "FAILOVER", "chat")
    yield


OUTAGES: Final[tuple[tuple[type[Fixture], Outage], ...]] = (
    (Redis, stopped),
    (Redis, paused),
    (Pair, switched),
    (Pair, split),
    (Watched, failed_over),
)


@pytest.fixture
def servers(
    make_server: Fixture, postgres_settings: dict[str, str], redis: Fixture, other_starter: Fixture, tmp_path: Path
) -> Iterator[tuple[Fixture, Fixture]]:
    """Two servers of one deployment, not started yet. Each server has a lab, which can move the server's clock."""
    settings = {**postgres_settings, "REDIS_URL": redis.url, "LAB": "1"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with make_server(**settings) as here, make_server(elsewhere, other_starter, **settings) as there:
        yield here, there


async def until(holds: Callable[[], object]) -> None:
    """Wait for a log entry: call `holds` repeatedly until the result is true."""
    async with asyncio.timeout(LIVE_SECONDS):
        while not holds():  # noqa: ASYNC110 - a log tells nobody
            await asyncio.sleep(0.05)


async def told(socket: Fixture, count: int) -> list[int]:
    """Return the numbers of the next `count` messages on a socket. No further message may follow."""
    frames = [await socket.next() for _ in range(count)]
    await socket.say({"type": "ping"})
    assert (await socket.next())["type"] == "pong"
    return [frame["seq"] for frame in frames]


@pytest.mark.contract("D-15/deaf")
@pytest.mark.parametrize(("redis", "outage"), OUTAGES, indirect=["redis"])
async def test_a_redis_outage_loses_no_message_and_needs_no_reload(
    outage: Outage, servers: tuple[Fixture, Fixture], redis: Fixture
) -> None:
    here, there = servers
    shop = here.open_shop()
    for server in servers:
        server.start()
    writer, beside, far = shop.person("ada"), shop.person("ada"), type(shop)(there, shop.id, shop.secret).person("ada")
    async with writer.socket() as writes, beside.socket() as near, far.socket() as away:
        with outage(redis):
            for number in range(MESSAGES // 2):
                await writer.post(writes, f"unnoticed {number}")
            await until(lambda: here.heard("hub.lost") and there.heard("hub.lost"))
            for number in range(MESSAGES // 2):
                await writer.post(writes, f"known to be away {number}")
            told_near = await told(near, MESSAGES)
        back_at = time.monotonic()
        await until(lambda: here.heard("hub.back") and there.heard("hub.back"))
        live = time.monotonic() - back_at
        await writer.post(writes, "after")
        told_away = await told(away, MESSAGES + 1)

    assert told_near == list(range(1, MESSAGES + 1))
    assert sorted(told_away) == list(range(1, MESSAGES + 2))
    assert live < PATIENCE
    for server in servers:
        assert [len(server.heard(event)) for event in ("hub.lost", "hub.back")] == [1, 1]
        assert server.end() == 0


async def lab(server: Fixture, path: str, body: object = None) -> httpx.Response:
    address = f"http://localhost:{server.port}"
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE, headers={"origin": address}) as http:
        return await http.post(f"{address}{path}", json=body)


@asynccontextmanager
async def agents_page(server: Fixture) -> AsyncIterator[Fixture]:
    """Open the agent panel's socket at a server."""
    cookie = (await lab(server, "/agent/lab")).headers["set-cookie"].partition(";")[0]
    origin = Origin(f"http://localhost:{server.port}")
    async with connect(
        f"ws://localhost:{server.port}/agent/socket", origin=origin, additional_headers={"Cookie": cookie}, proxy=None
    ) as page:
        await frame_of(page, "ready")
        yield page


async def frame_of(page: Fixture, kind: str) -> Any:
    """Return the next frame of this kind. Frames of other kinds are skipped."""
    async with asyncio.timeout(PATIENCE):
        while (frame := json.loads(await page.recv()))["type"] != kind:
            pass
    return frame


@pytest.mark.contract("D-15/deaf")
@pytest.mark.parametrize("seconds", [0, 1800], ids=["equal clocks", "half an hour behind"])
async def test_messages_stored_by_a_host_with_a_slow_clock_reach_open_pages(
    seconds: int, servers: tuple[Fixture, Fixture], redis: Fixture
) -> None:
    """The server that stores the message has a slow clock.

    Pages must get the message even if they have not loaded the history.
    """
    behind, here = servers
    shop = behind.open_shop()
    for server in servers:
        server.start()
    await lab(here, "/lab/clock", {"advance": seconds})
    writer, far = shop.person("ada"), type(shop)(here, shop.id, shop.secret).person("ada")
    async with writer.socket() as writes, far.socket() as quiet, far.socket() as away, agents_page(here) as page:
        await writer.post(writes, "heard")
        assert [(await socket.next())["seq"] for socket in (quiet, away)] == [1, 1]
        await away.ask({"type": "history", "id": "h"})
        with stopped(redis):
            await until(lambda: behind.heard("hub.lost") and here.heard("hub.lost"))
            await writer.post(writes, "unheard")
            await writes.ask({"type": "call", "id": "c", "action": "start"})
        told = [[await socket.next() for _ in range(2)] for socket in (quiet, away)]
        await frame_of(page, "missed")
        await page.send(json.dumps({"type": "list", "id": "l"}))
        listed = (await frame_of(page, "conversations"))["items"][0]

    assert [[frame.get("body") or frame["state"] for frame in frames] for frames in told] == [
        ["unheard", "ringing"]
    ] * 2
    assert (listed["last"]["body"], listed["call"]["state"]) == ("unheard", "ringing")


@pytest.mark.contract("D-15/deaf")
async def test_messages_that_a_killed_server_stored_but_did_not_publish_are_delivered(
    servers: tuple[Fixture, Fixture], redis: Fixture
) -> None:
    """The test kills a server that has stored a message but could not publish it, because Redis was paused."""
    here, there = servers
    shop = here.open_shop()
    for server in servers:
        server.start()
    writer, far = shop.person("ada"), type(shop)(there, shop.id, shop.secret).person("ada")
    async with far.socket() as away:
        async with writer.socket() as writes:
            await writer.post(writes, "heard")
            assert (await away.next())["body"] == "heard"
            with redis.paused():
                await writer.post(writes, "last words")
                await asyncio.to_thread(here.end, signal.SIGKILL)
        last = await away.next()

    assert (last["body"], last["seq"]) == ("last words", 2)


@pytest.mark.contract("D-22/ends")
@pytest.mark.parametrize("is_accepted", [False, True], ids=["ringing", "active"])
async def test_the_call_of_a_killed_server_is_ended_by_another_one(
    servers: tuple[Fixture, Fixture], postgres_settings: dict[str, str], *, is_accepted: bool
) -> None:
    here, there = servers
    shop = here.open_shop()
    for server in servers:
        server.start()
    caller, far = shop.person("ada"), type(shop)(there, shop.id, shop.secret).person("ada")
    async with far.socket() as away:
        async with caller.socket() as calls:
            call = await calls.ask({"type": "call", "id": "c", "action": "start"})
            told = [(await away.next())["state"]]
            if is_accepted:
                deed = {"do": "accept", "id": shop.id, "uid": "ada", "page": "p"}
                assert (await lab(there, "/lab/agent", deed)).json()["data"]["refused"] is None
                told.append((await away.next())["state"])
            await asyncio.to_thread(here.end, signal.SIGKILL)
        await lab(there, "/lab/clock", {"advance": REJOIN_SECONDS + 2 * KEEP_SECONDS})
        ended = await away.next()
        again = await away.ask({"type": "call", "id": "c", "action": "start"})
        rows = await fetch(
            postgres_settings["DATABASE_URL"], "SELECT state, code, ended_at FROM call ORDER BY started_at"
        )

    assert told == ["ringing", "active"][: 1 + is_accepted]
    assert (ended["call_id"], ended["state"], ended["code"]) == (call["call_id"], "ended", "call_lost")
    assert (again["state"], again["call_id"] == call["call_id"]) == ("ringing", False)
    assert [(row["state"], row["code"]) for row in rows] == [("ended", "call_lost"), ("ringing", None)]
    assert rows[0]["ended_at"] is not None


@pytest.mark.contract("D-15/redis")
async def test_another_deployment_on_the_same_redis_receives_no_messages(
    make_server: Fixture, redis: Fixture, other_starter: Fixture, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ours = make_server(REDIS_URL=redis.url, MASTER_KEY="o" * 40)
    theirs = make_server(elsewhere, other_starter, REDIS_URL=redis.url, MASTER_KEY="t" * 40)
    with ours as here, theirs as there:
        shop = here.open_shop()
        there.run("db", "migrate")
        secret = json.loads(there.run("provider", "add", "--json", "--id", shop.id))["secret_key"]
        for server in (here, there):
            server.start()
        stranger = type(shop)(there, shop.id, secret).person("ada")
        ada, beside = shop.person("ada"), shop.person("ada")
        async with ada.socket() as writes, beside.socket() as near, stranger.socket() as foreign:
            await ada.post(writes, "for us alone")
            heard = await near.next()
            nothing = await foreign.ask({"type": "ping"})

        assert (heard["body"], nothing["type"]) == ("for us alone", "pong")
        assert here.heard("hub.refused") == there.heard("hub.refused") == []
