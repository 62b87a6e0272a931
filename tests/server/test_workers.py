"""Tests of `chatkey serve --workers`, and of the graceful shutdown of a server."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import pytest
from tests.server.test_serve import Served, serving, until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from chatkey_server.commands.listeners import listeners
from chatkey_server.commands.workers import check_workers
from chatkey_server.settings import Settings, SettingsError
from chatkey_stack.patience import PATIENCE

Fixture = Any

TOKEN = "a-token-for-prometheus"
LIVE_REQUESTS = 'chatkey_http_seconds_count{route="/health/live",status="2xx"}'
SHARED = Settings(database_url="postgresql://db/chatkey", redis_url="redis://cache", master_key=("m" * 32,))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"database_url": "sqlite:///here"}, "is not a PostgreSQL database, which several workers need"),
        ({"redis_url": ""}, "CHATKEY_REDIS_URL is not set, so workers would not receive each other's messages"),
        ({"lab": True}, "CHATKEY_LAB gives each process its own clock and faults"),
    ],
)
def test_several_workers_need_postgresql_and_redis_and_no_lab(changes: dict[str, Any], words: str) -> None:
    check_workers(SHARED)

    with pytest.raises(SettingsError, match=re.escape(words)):
        check_workers(Settings(**{"database_url": SHARED.database_url, "redis_url": SHARED.redis_url, **changes}))


def test_workers_are_refused_where_processes_cannot_share_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "SO_REUSEPORT")  # as on Windows

    with pytest.raises(click.ClickException, match=r"cannot share a port\. Start the server without --workers"):
        listeners(SHARED, 2)


def ready(served: Served) -> tuple[int, str]:
    status, _, body = served.request("GET", "/health/ready")
    return status, body


def end_of(one: ClientConnection) -> tuple[int, float]:
    """Wait until the server announces a restart and closes the socket. Returns the close code and the time."""
    assert json.loads(one.recv(PATIENCE))["code"] == "restarting"
    with pytest.raises(ConnectionClosed) as closed:
        one.recv(PATIENCE)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, time.monotonic()


def test_a_stopping_server_first_reports_it_and_then_closes_its_sockets_one_by_one(tmp_path: Path) -> None:
    with serving(tmp_path, CHATKEY_DRAIN="6") as served, ExitStack() as stack, ThreadPoolExecutor() as threads:
        sockets = [stack.enter_context(served.socket()) for _ in range(5)]
        for one in sockets:
            one.recv(PATIENCE)
        before = ready(served)[0]

        served.process.send_signal(signal.SIGTERM)
        until(lambda: ready(served)[0] == 503)
        leaving = ready(served)[1]
        late = stack.enter_context(served.socket())
        late.recv(PATIENCE)
        ends = list(threads.map(end_of, (*sockets, late)))  # in parallel, because the order of closing is unknown

        assert served.process.wait(PATIENCE) == 0
        assert before == 200
        assert "process leaving" in leaving
        assert {code for code, _ in ends} == {1012}
        assert max(at for _, at in ends) - min(at for _, at in ends) > 0.5


def children(pid: int) -> set[int]:
    """Return the ids of the child processes of process `pid`."""
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def counted(served: Served, sample: str) -> float:
    """Return the value of a metric, whichever worker responds."""
    _, _, body = served.request("GET", "/metrics", {"Authorization": f"Bearer {TOKEN}"})
    (line,) = re.findall(rf"^{re.escape(sample)} (\S+)$", body, re.MULTILINE)
    return float(line)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="who a process's children are is read from /proc")
def test_workers_share_a_port_are_started_again_when_they_die_and_end_together(
    tmp_path: Path, postgres_url: str, redis_url: str
) -> None:
    settings = {"CHATKEY_DATABASE_URL": postgres_url, "CHATKEY_REDIS_URL": redis_url, "CHATKEY_MASTER_KEY": "m" * 40}
    with (
        serving(tmp_path, "--workers", "2", **settings, CHATKEY_METRICS_TOKEN=TOKEN) as served,
        ExitStack() as stack,
    ):
        first = children(served.process.pid)
        sockets = [stack.enter_context(served.socket()) for _ in range(12)]
        for one in sockets:
            one.recv(PATIENCE)
        together = {counted(served, 'chatkey_sockets{peer="customer"}') for _ in range(6)}
        for _ in range(20):
            served.request("GET", "/health/live")
        requests = {counted(served, LIVE_REQUESTS) for _ in range(6)}
        started = counted(served, "chatkey_started_seconds")

        os.kill(min(first), signal.SIGKILL)
        statuses = {ready(served)[0] for _ in range(20)}  # requests in between wait for the new worker
        until(lambda: len(children(served.process.pid)) == 2 and children(served.process.pid) != first)
        statuses |= {ready(served)[0] for _ in range(20)}
        after = {counted(served, LIVE_REQUESTS) for _ in range(6)}
        started_again = counted(served, "chatkey_started_seconds")
        served.process.terminate()

        assert served.process.wait(PATIENCE) == 0, served.log
        assert (len(first), together, statuses) == (2, {12.0}, {200})
        assert (requests, after) == ({20.0}, {20.0})  # the dead worker's requests still count
        assert started_again > started
        assert [json.loads(line)["event"] for line in served.log.splitlines() if "worker" in line] == ["worker.died"]
