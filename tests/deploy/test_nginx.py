"""Tests of `deploy/nginx` with a real nginx and a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.deploy.proxies import SHIPPED, nginx
from tests.refusals.kit.shipped import Service, serving
from tests.server.test_serve import until

from chatkey_peer.peer import peer
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports
from chatkey_stack.tls import issue, trust

UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


class Proxy(NamedTuple):
    service: Service
    folder: Path
    http: int
    https: int
    ca: Path

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        connection = HTTPSConnection("localhost", self.https, timeout=PATIENCE, context=trust(self.ca))
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        connection.close()
        return found


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    settings = {"TRUSTED_PROXIES": "127.0.0.1", "LIMIT_TOKEN_RATE": "3", "LAB_TOKEN": "a-token-of-the-lab"}
    with proxied(tmp_path_factory.mktemp("nginx"), SHIPPED, **settings) as made:
        yield made


@contextmanager
def proxied(folder: Path, text: str, **settings: str) -> Iterator[Proxy]:
    """Run nginx with the given configuration before a server with the given settings."""
    http, https = free_ports(2)
    base_url = f"https://localhost:{https}"
    with (
        issue(folder) as certificates,
        serving(folder, {"BASE_URL": base_url, **settings}) as service,
        nginx(folder, (http, https), service.port, certificates, text),
    ):
        yield Proxy(service, folder, http, https, certificates.ca)


def test_a_socket_and_a_request_go_through_it(proxy: Proxy) -> None:
    shop = proxy.service.shop()
    with peer(f"wss://localhost:{proxy.https}/v1/socket", origin="https://shop.example", ca=proxy.ca) as opened:
        outcome = opened.connect_with(shop.token(), shop.key)
    status, headers, body = proxy.get("/v1/public/provider/none")

    assert outcome.code == "ready"
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
    every_path = re.sub(r"    location ~ .* { return 404; }\n", "", SHIPPED)
    with proxied(tmp_path, every_path) as proxy:
        for host in ("localhost", "127.0.0.1", "chat.localhost"):
            status, _, body = proxy.get("/lab/clock", Host=host)

            assert (status, json.loads(body)["error"]["code"]) == (403, "proxied")
        assert proxy.service.lab.now()


def test_limits_are_counted_per_connecting_address_and_ignore_x_forwarded_for(proxy: Proxy) -> None:
    path = f"/v1/public/provider/none/token?uid={UID}"

    statuses = [proxy.get(path, **{"X-Forwarded-For": f"192.0.2.{number}"})[0] for number in range(4)]

    assert statuses == [404, 404, 404, 429]


def test_the_log_of_nginx_contains_no_query(proxy: Proxy) -> None:
    path = "/v1/oauth/none/callback"
    _, headers, _ = proxy.get(f"{path}?code=secret-code&state=secret-state")
    log = proxy.folder / "chatkey.log"
    until(lambda: headers["x-request-id"] in log.read_text())

    assert path in log.read_text()
    assert "secret" not in log.read_text() + (proxy.folder / "chatkey-error.log").read_text()
