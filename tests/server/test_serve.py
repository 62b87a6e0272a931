"""Tests of the process `chatkey serve`. They cover behaviour that needs the real server below the app (D-16)."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from chatkey_peer.peer import peer
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports
from chatkey_stack.tls import Certificates, issue, trust

PROGRAM = """
from importlib.metadata import EntryPoint
from chatkey.cli import Commands
Commands(find=lambda: [EntryPoint("serve", "chatkey_server.commands.serve:serve", "chatkey.commands")])()
"""
"""The command line with only the tested command. It also runs if the package is not installed."""
SERVE = [sys.executable, "-c", PROGRAM, "serve"]


class Served:
    def __init__(self, process: subprocess.Popen[str], port: int, errors: Path) -> None:
        self.process = process
        self.port = port
        self._errors = errors

    @property
    def log(self) -> str:
        return self._errors.read_text()

    def request(
        self, method: str, target: str, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], str]:
        """Send one request with exactly this target. Returns status, headers and body."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, target, headers=headers or {})
        answer = connection.getresponse()
        result = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        connection.close()
        return result

    def lab(self, path: str, body: object) -> Any:
        """Send a POST request to the lab, and return `data` from the response."""
        data = json.dumps(body).encode()
        json_type = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/lab{path}", data, json_type)
        asked.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return json.load(answer)["data"]

    def raw(self, text: bytes) -> bytes:
        """Send bytes, and return everything that the server sends until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as wire:
            wire.sendall(text)
            return b"".join(iter(lambda: wire.recv(65536), b""))

    def socket(self) -> ClientConnection:
        return connect(f"ws://127.0.0.1:{self.port}/v1/socket", subprotocols=["wf.v1"], open_timeout=PATIENCE)  # type: ignore[list-item]


def until(holds: Callable[[], object]) -> None:
    ends_at = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends_at
        time.sleep(0.05)


def tls_of(certificates: Certificates) -> dict[str, str]:
    return {"CHATKEY_TLS_CERT": str(certificates.chain), "CHATKEY_TLS_KEY": str(certificates.key)}


@contextmanager
def serving(folder: Path, *arguments: str, **settings: str) -> Iterator[Served]:
    (port,), errors = free_ports(1), folder / "stderr.txt"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    environ |= {"CHATKEY_DATA_DIR": str(folder / "data"), "CHATKEY_PORT": str(port), **settings}
    with errors.open("w") as stderr:
        process = subprocess.Popen([*SERVE, *arguments], env=environ, stdout=subprocess.PIPE, stderr=stderr, text=True)
    assert process.stdout is not None
    try:
        ready = process.stdout.readline()
        scheme = "https" if "CHATKEY_TLS_CERT" in settings else "http"
        assert ready == f"ready {scheme}://localhost:{port}\n", errors.read_text()
        yield Served(process, port, errors)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with its lab, shared by the tests of this module."""
    with serving(tmp_path_factory.mktemp("served"), CHATKEY_LAB="1", CHATKEY_LOG_LEVEL="debug") as made:
        yield made


@pytest.fixture(scope="module")
def shop(served: Served) -> dict[str, str]:
    """The id and the secret_key of a provider on the shared server."""
    made: dict[str, str] = served.lab("/providers", {"socials": {}})
    return made


def test_mistakes_of_a_peer_leave_no_traceback_in_the_log(served: Served) -> None:
    form = b"POST /v1/public/oauth/google/callback HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
    form += b"Content-Type: application/x-www-form-urlencoded\r\n\r\nstate="

    with served.socket() as wire:
        wire.recv(PATIENCE)
        wire.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed) as closed:
            wire.recv(PATIENCE)
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as cut:
        cut.sendall(form)
        cut.shutdown(socket.SHUT_WR)
        assert cut.recv(100) == b""
    until(lambda: all(word in served.log for word in ("Invalid UTF-8", "/v1/public/oauth/google/callback")))

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007
    assert "Traceback" not in served.log


@pytest.mark.contract("5.6/wss")
def test_with_a_certificate_it_serves_https_and_wss(tmp_path: Path) -> None:
    with issue(tmp_path) as made, serving(tmp_path, **tls_of(made)) as server:
        with peer(f"wss://localhost:{server.port}/v1/socket", origin=None, ca=made.ca) as opened:
            hello = opened.receive()
        answer = httpx.get(
            f"https://localhost:{server.port}/v1/public/provider/none",
            verify=trust(made.ca),
            trust_env=False,
            timeout=PATIENCE,
        )

    assert hello["type"] == "hello"
    assert answer.json()["error"]["code"] == "provider_unknown"


def test_the_lab_cuts_a_connection_and_refuses_a_handshake(served: Served) -> None:
    served.lab("/faults", {"where": "/v1/public/provider/cut", "action": "drop"})
    served.lab("/faults", {"where": "/v1/socket", "action": "status", "status": 503})

    with pytest.raises(RemoteDisconnected):
        served.request("GET", "/v1/public/provider/cut")
    with pytest.raises(InvalidStatus) as refused:
        served.socket()

    assert refused.value.response.status_code == 503
    assert served.request("GET", "/v1/public/provider/cut")[0] == 404


def test_the_lab_cuts_a_handshake_and_closes_a_socket_with_a_code(served: Served) -> None:
    served.lab("/faults", {"where": "/v1/socket", "action": "drop"})
    served.lab("/faults", {"where": "hello", "action": "close", "code": 4401})

    with pytest.raises(InvalidMessage):
        served.socket()
    with served.socket() as wire, pytest.raises(ConnectionClosed) as closed:
        wire.recv(PATIENCE)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


@pytest.mark.contract("D-16/restart-1012")
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_on_a_signal_every_socket_is_closed_with_1012_and_the_process_ends_with_0(
    tmp_path: Path, stop: signal.Signals
) -> None:
    with serving(tmp_path) as server, server.socket() as wire:
        assert json.loads(wire.recv(PATIENCE))["type"] == "hello"

        server.process.send_signal(stop)
        told = json.loads(wire.recv(PATIENCE))
        with pytest.raises(ConnectionClosed) as closed:
            wire.recv(PATIENCE)

        assert (told["type"], told["code"], told["retryable"]) == ("error", "restarting", True)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
        assert server.process.wait(PATIENCE) == 0
        assert "Traceback" not in server.log


def refused(folder: Path, *arguments: str, **settings: str) -> str:
    """Run a server that must refuse to start, and return its error output."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    environ |= {"CHATKEY_DATA_DIR": str(folder), **settings}
    done = subprocess.run(
        [*SERVE, *arguments], env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_server_that_starts_does_not_load_what_only_a_social_login_or_the_admin_panel_needs() -> None:
    late = {"authlib", "httpx", "joserfc", "fastapi", "piccolo_admin"}
    program = f"import sys, chatkey_server.commands.serve; print({late} & set(sys.modules))"

    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=True
    )

    assert loaded.stdout == "set()\n"


def test_an_address_that_cannot_be_used_is_told_with_what_to_do(tmp_path: Path, served: Served) -> None:
    in_use = refused(tmp_path, "--port", str(served.port))
    (port,) = free_ports(1)
    elsewhere = refused(tmp_path, "--host", "192.0.2.1", "--port", str(port))

    assert f"Port {served.port} on 127.0.0.1 is in use." in in_use
    assert "--port or CHATKEY_PORT" in in_use
    assert "CHATKEY_HOST" in elsewhere


@pytest.mark.contract("D-16/plain-http", "D-14/lab")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"CHATKEY_BASE_URL": "http://chat.example"}, "https://chat.example"),
        ({"CHATKEY_LAB": "1", "CHATKEY_HOST": "0.0.0.0"}, "CHATKEY_HOST"),
        ({"CHATKEY_TLS_CERT": __file__, "CHATKEY_TLS_KEY": __file__}, "CHATKEY_TLS_CERT"),
        (
            {"CHATKEY_REDIS_URL": "redis://user:hidden@127.0.0.1:1", "CHATKEY_MASTER_KEY": "k" * 40},
            "CHATKEY_REDIS_URL (not shown): Redis cannot be reached",
        ),
        ({"CHATKEY_DATABASE_URL": f"sqlite:///{__file__}/x"}, "CHATKEY_DATABASE_URL"),
    ],
    ids=["plain-http", "open-lab", "certificate", "redis", "database"],
)
def test_a_setting_with_which_no_server_can_start_is_named(
    tmp_path: Path, settings: dict[str, str], words: str
) -> None:
    (port,) = free_ports(1)

    said = refused(tmp_path, **{"CHATKEY_PORT": str(port), **settings})

    assert next(iter(settings)) in said
    assert words in said
    assert "hidden" not in said
