"""Tests of late and truncated answers with a real HTTP client and a real server."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest

from chatkey_oauth.faults.rules import Order, Scope
from chatkey_oauth.serve import Listening
from chatkey_oauth.settings import Settings
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from chatkey_oauth.app import App

LAB_WAITS = 30
"""The longest time in seconds for which the lab lets a request wait."""

REQUEST = b"POST /google/token HTTP/1.1\r\nHost: fake\r\nContent-Length: 0\r\n\r\n"


class Running:
    """A fake that serves in a thread."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        listening = self._stack.enter_context(Listening("127.0.0.1", 0))
        server = self._stack.enter_context(listening.serving(Settings(lab=True)))
        self.fake, self.port = cast("App", server.site.app), listening.port

    def arm(self, fault: str, **options: Any) -> None:
        self.fake.faults.arm(Order(fault=fault, scope=Scope(provider="google"), with_=options))

    def ask(self, timeout: float = PATIENCE) -> httpx.Response:
        """Send a token request. The fake refuses the request if no fault is armed."""
        return httpx.post(f"http://127.0.0.1:{self.port}/google/token", timeout=timeout, trust_env=False)

    def wait_for_request(self) -> None:
        """Wait until the log contains the request. The fake logs a request just before it withholds the answer."""
        address = f"http://127.0.0.1:{self.port}/lab/requests"
        query = {"path": "/token", "wait": str(min(PATIENCE, LAB_WAITS))}
        answer = httpx.get(address, params=query, timeout=2 * PATIENCE, trust_env=False)
        assert len(answer.json()["data"]["requests"]) == 1

    def stop(self) -> None:
        """Stop the server and wait until its thread has ended."""
        self._stack.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """One server for all tests that do not stop the server."""
    server = Running()
    yield server
    server.stop()


def test_a_reset_connection_ends_with_rst(running: Running) -> None:
    running.arm("reset")

    with socket.create_connection(("127.0.0.1", running.port), PATIENCE) as connection:
        connection.sendall(REQUEST)
        with pytest.raises(ConnectionResetError):
            connection.recv(100)

    assert running.ask().status_code == 400


def test_a_client_gets_an_error_for_a_reset(running: Running) -> None:
    running.arm("reset")

    with pytest.raises(httpx.ReadError):
        running.ask()


def test_a_truncated_answer_is_shorter_than_it_says(running: Running) -> None:
    running.arm("truncated")

    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        running.ask()
    assert running.ask().status_code == 400


def test_a_slow_answer_arrives_after_the_delay(running: Running) -> None:
    running.arm("slow", seconds=0.05)

    answer = running.ask()

    assert answer.status_code == 400
    assert answer.elapsed.total_seconds() >= 0.05


def test_a_hanging_answer_does_not_delay_others(running: Running) -> None:
    running.arm("hang")

    with pytest.raises(httpx.ReadTimeout):
        running.ask(timeout=0.05)
    assert running.ask().status_code == 400


def test_a_hanging_answer_does_not_keep_the_server_from_stopping(capfd: pytest.CaptureFixture[str]) -> None:
    running = Running()
    running.arm("hang")

    with socket.create_connection(("127.0.0.1", running.port), PATIENCE) as connection:
        connection.sendall(REQUEST)
        running.wait_for_request()
        running.stop()
        with pytest.raises(ConnectionResetError):
            connection.recv(100)

    assert capfd.readouterr().err == ""


@pytest.fixture
def call() -> Callable[..., Any]:
    async def call(fake: App, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app=fake, **options)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post("/google/token")

    return call


async def test_a_server_that_cannot_cut_says_so(fake: App, call: Callable[..., Any]) -> None:
    fake.faults.arm(Order(fault="reset"))

    with pytest.raises(ConnectionAbortedError, match="this server cannot cut"):
        await call(fake)


async def test_a_slow_answer_needs_no_special_server(fake: App, call: Callable[..., Any]) -> None:
    fake.faults.arm(Order(fault="slow", with_={"seconds": 0.01}))

    assert (await call(fake)).status_code == 400
