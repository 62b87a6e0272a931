"""Tests of late and truncated answers with a real HTTP client and a real server."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from chatkey_oauth.client import FakeOAuth
from chatkey_oauth.faults.rules import Order, Scope
from chatkey_oauth.pytest_plugin import running
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from chatkey_oauth.app import App

LAB_WAITS = 30
"""The longest time in seconds for which the lab lets a request wait."""

GOOGLE = Scope(provider="google")
REQUEST = b"POST /google/token HTTP/1.1\r\nHost: fake\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture(scope="module")
def started() -> Iterator[FakeOAuth]:
    """One server for all tests that do not stop the server."""
    with running() as one:
        yield one


def ask(at: FakeOAuth, timeout: float = PATIENCE) -> httpx.Response:
    """Send a token request. The fake refuses the request if no fault is armed."""
    return httpx.post(f"{at.url}/google/token", timeout=timeout, trust_env=False)


def dialled(at: FakeOAuth) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(at.url.rpartition(":")[2])), PATIENCE)


def test_a_reset_connection_ends_with_rst(started: FakeOAuth) -> None:
    started.arm("reset", GOOGLE)

    with dialled(started) as connection:
        connection.sendall(REQUEST)
        with pytest.raises(ConnectionResetError):
            connection.recv(100)

    assert ask(started).status_code == 400


def test_a_client_gets_an_error_for_a_reset(started: FakeOAuth) -> None:
    started.arm("reset", GOOGLE)

    with pytest.raises(httpx.ReadError):
        ask(started)


def test_a_truncated_answer_is_shorter_than_it_says(started: FakeOAuth) -> None:
    started.arm("truncated", GOOGLE)

    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        ask(started)
    assert ask(started).status_code == 400


def test_a_slow_answer_arrives_after_the_delay(started: FakeOAuth) -> None:
    started.arm("slow", GOOGLE, seconds=0.05)

    answer = ask(started)

    assert answer.status_code == 400
    assert answer.elapsed.total_seconds() >= 0.05


def test_a_hanging_answer_does_not_delay_others(started: FakeOAuth) -> None:
    started.arm("hang", GOOGLE)

    with pytest.raises(httpx.ReadTimeout):
        ask(started, timeout=0.05)
    assert ask(started).status_code == 400


def test_a_hanging_answer_does_not_keep_the_server_from_stopping(capfd: pytest.CaptureFixture[str]) -> None:
    with running() as stopped:
        stopped.arm("hang", GOOGLE)
        connection = dialled(stopped)
        connection.sendall(REQUEST)
        # The fake logs a request just before it withholds the answer.
        assert len(stopped.requests(path="/token", wait=min(PATIENCE, LAB_WAITS))) == 1

    with connection, pytest.raises(ConnectionResetError):
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
