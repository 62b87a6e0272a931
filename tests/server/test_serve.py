"""Tests of the process `chatkey serve`. They cover behaviour that needs the real server below the app (D-16)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import trustme
from websockets.asyncio.client import connect as connect_in_one_thread
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

PROGRAM = """
from importlib.metadata import EntryPoint
from chatkey_server.cli import Commands
Commands(find=lambda: [EntryPoint("serve", "chatkey_server.commands.serve:serve", "chatkey.commands")])()
"""
"""The command line with only the tested command. It also runs if the package is not installed."""
SERVE = [sys.executable, "-c", PROGRAM, "serve"]

UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


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


def test_no_header_names_the_software(served: Served) -> None:
    status, headers, body = served.request("GET", "/nowhere")

    assert status == 404
    assert "server" not in headers
    assert "uvicorn" not in body + repr(headers)
    assert headers["x-content-type-options"] == "nosniff"


def test_head_is_get_without_a_body_on_the_wire_too(served: Served, shop: dict[str, str]) -> None:
    path = f"/v1/public/provider/{shop['id']}"
    _, get, body = served.request("GET", path)

    status, head, nothing = served.request("HEAD", path)

    assert (status, nothing) == (200, "")
    assert head["content-length"] == get["content-length"] == str(len(body))


@pytest.mark.parametrize("method", ["TRACE", "POST", "DELETE", "PROPFIND"])
def test_another_method_is_405_and_not_echoed(served: Served, shop: dict[str, str], method: str) -> None:
    status, headers, body = served.request(method, f"/v1/public/provider/{shop['id']}", {"X-Echo": "echo?"})

    assert (status, json.loads(body)["error"]["code"]) == (405, "method_not_allowed")
    assert sorted(headers["allow"].split(", ")) == ["GET", "HEAD", "OPTIONS"]
    assert "echo?" not in body


def test_repeated_parameters_are_400(served: Served, shop: dict[str, str]) -> None:
    path = f"/v1/public/provider/{shop['id']}/token?uid={UID}"

    assert served.request("GET", path)[0] == 200
    status, _, body = served.request("GET", f"{path}&uid={UID}")
    assert (status, json.loads(body)["error"]["code"]) == (400, "parameter_repeated")


@pytest.mark.contract("D-03/one-spelling")
@pytest.mark.parametrize(
    "target",
    [
        "//v1/public/provider/{id}",
        "/v1/public/provider/{id}/",
        "/v1/public/provider//token?uid=" + UID,
        "/v1/public/provider/{id}%2Ftoken?uid=" + UID,
        "/v1/public/provider/x/../{id}",
        "/v1/public/provider/%ff",
        "/v1/public/provider/%00",
        "/v1/public/provider/" + "a" * 10_000,
    ],
)
def test_another_spelling_of_a_path_is_404(served: Served, shop: dict[str, str], target: str) -> None:
    status, _, body = served.request("GET", target.format(id=shop["id"]))

    assert (status, json.loads(body)["data"]) == (404, None)


def test_an_absolute_target_and_a_strange_host_do_not_change_any_address(served: Served, shop: dict[str, str]) -> None:
    path = f"/v1/public/provider/{shop['id']}"
    plain = served.request("GET", path)

    absolute = served.request("GET", f"http://evil.example{path}", {"Host": "evil.example"})
    forwarded = served.request("GET", path, {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"})

    assert plain[0] == absolute[0] == forwarded[0] == 200
    assert plain[2] == absolute[2] == forwarded[2]


def test_an_invalid_host_is_400_in_the_usual_envelope(served: Served, shop: dict[str, str]) -> None:
    status, _, body = served.request("GET", f"/v1/public/provider/{shop['id']}", {"Host": "a b<c>"})

    assert (status, json.loads(body)["error"]["code"]) == (400, "parameter_invalid")


@pytest.mark.parametrize(
    "text",
    [
        b"get / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_text_that_is_no_http_is_400_and_names_no_software(served: Served, text: bytes) -> None:
    answer = served.raw(text)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Traceback" not in answer
    assert b"uvicorn" not in answer.lower()


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_plain_request_to_the_socket_is_426(served: Served, method: str) -> None:
    status, headers, body = served.request(method, "/v1/socket")

    assert (status, headers["upgrade"]) == (426, "websocket")
    assert "allow" not in headers
    assert not body if method == "HEAD" else json.loads(body)["error"]["code"] == "method_not_allowed"


def test_another_spelling_of_the_sockets_path_is_refused(served: Served) -> None:
    for target in ("/v1/socket/", "//v1/socket", "/v1/sock%65t"):
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"ws://127.0.0.1:{served.port}{target}", open_timeout=PATIENCE),
        ):
            pass

        assert refused.value.response.status_code == 403


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


def test_a_query_that_is_too_long_is_400(served: Served, shop: dict[str, str]) -> None:
    path = f"/v1/public/provider/{shop['id']}/token?uid="

    long, longer = served.request("GET", path + "a" * 20_000), served.request("GET", path + "a" * 100_000)

    assert (long[0], json.loads(long[2])["error"]["code"]) == (400, "parameter_invalid")
    assert longer[0] == 400
    assert "Traceback" not in longer[2] + served.log


async def first_frame(uri: str, trust: ssl.SSLContext) -> dict[str, object]:
    # The blocking client uses two threads, which TLS does not support.
    async with connect_in_one_thread(uri, ssl=trust) as wire:
        frame: dict[str, object] = json.loads(await wire.recv())
    return frame


@pytest.mark.contract("5.6/wss")
def test_with_a_certificate_it_serves_https_and_wss(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate, trust = authority.issue_cert("localhost"), ssl.create_default_context()
    authority.configure_trust(trust)
    files = {"CHATKEY_TLS_CERT": tmp_path / "cert.pem", "CHATKEY_TLS_KEY": tmp_path / "key.pem"}
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(files["CHATKEY_TLS_CERT"], append=True)
    certificate.private_key_pem.write_to_path(files["CHATKEY_TLS_KEY"])

    with serving(tmp_path, **{name: str(path) for name, path in files.items()}) as server:
        hello = asyncio.run(first_frame(f"wss://localhost:{server.port}/v1/socket", trust))
        with pytest.raises(HTTPError) as unknown:
            urllib.request.urlopen(
                f"https://localhost:{server.port}/v1/public/provider/none", context=trust, timeout=PATIENCE
            )

        assert hello["type"] == "hello"
        assert json.load(unknown.value)["error"]["code"] == "provider_unknown"
        unknown.value.close()


def test_an_unexpected_body_does_not_affect_the_next_request(served: Served, shop: dict[str, str]) -> None:
    path = f"/v1/public/provider/{shop['id']}".encode()
    with_body = b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nGET /"
    last = b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    answers = served.raw(with_body + last)

    assert answers.count(b"HTTP/1.1 200 OK") == 2


def test_no_token_and_no_secret_is_in_the_log_at_level_debug(served: Served, shop: dict[str, str]) -> None:
    base = f"/v1/public/provider/{shop['id']}"
    token = json.loads(served.request("GET", f"{base}/token?uid={UID}")[2])["data"]["auth_token"]

    served.request("GET", f"{base}/member/token?auth={token}&jkt={UID[2:]}")

    assert "token.refused" in served.log
    assert "/member/token" in served.log
    assert token not in served.log
    assert token.split(".")[1] not in served.log
    assert shop["secret_key"] not in served.log


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


def test_a_server_that_starts_does_not_load_what_only_a_social_login_needs() -> None:
    program = "import sys, chatkey_server.commands.serve; print({'authlib', 'httpx', 'joserfc'} & set(sys.modules))"

    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=True
    )

    assert loaded.stdout == "set()\n"


def test_a_port_in_use_is_told_with_what_to_do(tmp_path: Path, served: Served) -> None:
    said = refused(tmp_path, "--port", str(served.port))

    assert f"Port {served.port} on 127.0.0.1 is in use." in said
    assert "--port or CHATKEY_PORT" in said


def test_an_address_of_another_machine_is_told_with_what_to_do(tmp_path: Path) -> None:
    (port,) = free_ports(1)

    assert "CHATKEY_HOST" in refused(tmp_path, "--host", "192.0.2.1", "--port", str(port))


@pytest.mark.contract("D-16/plain-http")
def test_plain_http_on_an_address_that_is_not_loopback_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, CHATKEY_BASE_URL="http://chat.example")

    assert "CHATKEY_BASE_URL" in said
    assert "https://chat.example" in said


@pytest.mark.contract("D-14/lab")
def test_a_lab_that_others_could_reach_is_refused(tmp_path: Path) -> None:
    assert "CHATKEY_LAB" in refused(tmp_path, CHATKEY_LAB="1", CHATKEY_HOST="0.0.0.0")


def test_an_unusable_certificate_is_reported_with_its_setting(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("not a certificate")
    (port,) = free_ports(1)

    said = refused(tmp_path, CHATKEY_TLS_CERT=str(wrong), CHATKEY_TLS_KEY=str(wrong), CHATKEY_PORT=str(port))

    assert "CHATKEY_TLS_CERT" in said


def test_an_unreachable_redis_is_reported_with_its_setting_and_without_its_address(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    address = f"redis://user:hidden-password@127.0.0.1:{port}"

    said = refused(tmp_path, CHATKEY_REDIS_URL=address, CHATKEY_MASTER_KEY="k" * 40)

    assert "CHATKEY_REDIS_URL (not shown): Redis cannot be reached" in said
    assert "hidden-password" not in said


def test_a_database_that_cannot_be_opened_is_reported_with_its_setting(tmp_path: Path) -> None:
    said = refused(tmp_path, CHATKEY_DATABASE_URL=f"sqlite:///{tmp_path}/folder/that/is/a/file/x", CHATKEY_PORT="1")

    assert "CHATKEY_" in said
