"""Tests of `deploy/nginx` with a real nginx and a real server. Only ports, file paths and the upstream are changed."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme
from tests.server.test_serve import Served, serving
from websockets.sync.client import connect

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx" / "chatkey.conf"
AROUND = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/start.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/chatkey.conf;
}}
"""
UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

pytestmark = pytest.mark.skipif(
    not shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin"),
    reason="nginx is not on this machine: `apt-get install nginx` brings it",
)


class Proxy(NamedTuple):
    served: Served
    folder: Path
    http: int
    https: int
    trust: ssl.SSLContext

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        connection = HTTPSConnection("localhost", self.https, timeout=PATIENCE, context=self.trust)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        connection.close()
        return found


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("nginx")
    with (
        serving(folder, CHATKEY_TRUSTED_PROXIES="127.0.0.1", CHATKEY_LIMIT_TOKEN_RATE="3") as served,
        nginx_before(served, folder, CONFIGURATION.read_text()) as made,
    ):
        yield made


@contextmanager
def nginx_before(served: Served, folder: Path, text: str) -> Iterator[Proxy]:
    """Run nginx with the given configuration in front of a server."""
    authority = trustme.CA()
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    for part in certificate.cert_chain_pems:
        part.write_to_path(folder / "chain.pem", append=True)
    http, https = free_ports(2)
    own = {
        "server 127.0.0.1:8800": f"server 127.0.0.1:{served.port}",
        "listen 80;": f"listen 127.0.0.1:{http};",
        "listen 443 ssl;": f"listen 127.0.0.1:{https} ssl;",
        "server_name chat.example;": "server_name localhost;",
        "/etc/ssl/chatkey/fullchain.pem": str(folder / "chain.pem"),
        "/etc/ssl/chatkey/privkey.pem": str(folder / "key.pem"),
        "/var/log/nginx/": f"{folder}/",
    }
    for written, ours in own.items():
        assert written in text
        text = text.replace(written, ours)
    (folder / "chatkey.conf").write_text(text)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin") or "nginx"
    command = [program, "-e", str(folder / "start.log"), "-c", str(folder / "nginx.conf")]
    subprocess.run([*command, "-t", "-q"], check=True)
    process = subprocess.Popen(command)
    try:
        _wait_for(https)
        yield Proxy(served, folder, http, https, trust)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait_for(port: int) -> None:
    ends_at = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except ConnectionRefusedError:
            assert time.monotonic() < ends_at
            time.sleep(0.02)
        else:
            return


def test_a_socket_and_a_request_go_through_it(proxy: Proxy) -> None:
    uri = f"wss://localhost:{proxy.https}/v1/socket"
    with connect(uri, ssl=proxy.trust, subprotocols=["wf.v1"], open_timeout=PATIENCE) as opened:  # type: ignore[list-item]
        assert json.loads(opened.recv(PATIENCE))["type"] == "hello"
        assert opened.subprotocol == "wf.v1"
    status, headers, body = proxy.get("/v1/public/provider/none")

    assert (status, json.loads(body)["error"]["code"]) == (404, "provider_unknown")
    assert re.fullmatch("[0-9a-f]{16}", headers["x-request-id"])


def test_plain_http_is_sent_to_https(proxy: Proxy) -> None:
    connection = HTTPConnection("127.0.0.1", proxy.http, timeout=PATIENCE)
    connection.request("GET", "/agent", headers={"Host": "localhost"})
    answer = connection.getresponse()

    assert (answer.status, answer.getheader("location")) == (308, "https://localhost/agent")
    connection.close()


@pytest.mark.parametrize(
    "path",
    [
        *("/metrics", "/health/live", "/health/ready", "/lab", "/lab/clock", "/agent/lab"),
        *("/%6cab/clock", "//lab/clock", "/agent/../lab/clock", "/lab/clock?x=/agent", "/lab%2fclock"),
    ],
)
def test_health_metrics_and_lab_are_not_passed_on(proxy: Proxy, path: str) -> None:
    assert proxy.get(path)[0] == 404
    assert "x-request-id" not in proxy.get(path)[1]  # the request did not reach chatkey


@pytest.mark.contract("D-14/guard")
def test_a_lab_without_a_token_refuses_every_request_behind_nginx(tmp_path: Path) -> None:
    """The test makes nginx forward every path. The lab must refuse each request, whatever the `Host` header is."""
    every_path = re.sub(r"    location ~ .* { return 404; }\n", "", CONFIGURATION.read_text())
    with serving(tmp_path, CHATKEY_LAB="1") as served, nginx_before(served, tmp_path, every_path) as proxy:
        for host in ("localhost", "127.0.0.1", "chat.localhost"):
            status, _, body = proxy.get("/lab/clock", Host=host)

            assert (status, json.loads(body)["error"]["code"]) == (403, "proxied")
        assert served.request("GET", "/lab/clock")[0] == 200


def test_limits_are_counted_per_connecting_address_and_ignore_x_forwarded_for(proxy: Proxy) -> None:
    path = f"/v1/public/provider/none/token?uid={UID}"

    statuses = [proxy.get(path, **{"X-Forwarded-For": f"192.0.2.{number}"})[0] for number in range(4)]

    assert statuses == [404, 404, 404, 429]


def test_the_log_of_nginx_contains_no_query(proxy: Proxy) -> None:
    path = "/v1/oauth/none/callback"
    _, headers, _ = proxy.get(f"{path}?code=secret-code&state=secret-state")
    log = proxy.folder / "chatkey.log"
    ends_at = time.monotonic() + PATIENCE
    while headers["x-request-id"] not in log.read_text():
        assert time.monotonic() < ends_at
        time.sleep(0.02)

    assert path in log.read_text()
    assert "secret" not in log.read_text() + (proxy.folder / "chatkey-error.log").read_text()
