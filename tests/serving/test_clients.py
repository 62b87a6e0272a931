"""Logins at the fake provider with HTTP clients of other languages, directly and behind two reverse proxies.

Each program in `clients/` takes three addresses: of the provider, of the provider's lab and of the service's lab. The
program registers an application, logs a person in, moves the service's clock, and prints the statuses and the name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509 import load_pem_x509_certificate
from tests.deploy.proxies import haproxy, nginx
from tests.listening import program
from tests.node import NODE

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports
from chatkey_stack.stack import Flavour, Stack, running
from chatkey_stack.tls import Certificates, issue

pytestmark = pytest.mark.long

PROGRAMS: Final = Path(__file__).parent / "clients"
TRUST: Final = "-Djavax.net.ssl.trustStorePassword=public -Djavax.net.ssl.trustStore={store}"
CLIENTS: Final = {
    "requests": f"{sys.executable} login.py",
    "Node's fetch": f"{NODE} login.mjs",
    "java.net.http": f"java {TRUST} Login.java",
    "net/http": "go run login.go",
    "PHP's streams": "php -d openssl.cafile={ca} login.php streams",
    "PHP's curl": "php -d curl.cainfo={ca} login.php curl",
    "curl": "sh login.sh --http1.1",
    "curl --http2": "sh login.sh --http2",
}
"""The command of each client. Clients whose command does not name the CA find it in environment variables."""
PACKAGES: Final = {"java": "default-jre-headless", "go": "golang-go", "php": "php-cli"}
MISSING: Final = 77
"""The status of a program that lacks a library. The program has printed which one."""

Prepare = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certificates]:
    with issue(tmp_path_factory.mktemp("certificates")) as issued:
        yield issued


@pytest.fixture(scope="module")
def prepare(certificates: Certificates) -> Prepare:
    """Return a function that returns the arguments with which `subprocess` runs a client.

    Skips the test if the machine lacks the client's language.
    """
    ca, store = certificates.ca, certificates.ca.with_name("store.p12")
    entry = pkcs12.PKCS12Certificate(load_pem_x509_certificate(ca.read_bytes()), b"ca")
    store.write_bytes(pkcs12.serialize_java_truststore([entry], BestAvailableEncryption(b"public")))
    names = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environ |= dict.fromkeys(names, str(ca))

    def prepare(client: str, *addresses: str) -> dict[str, Any]:
        name, *arguments = CLIENTS[client].format(ca=ca, store=store).split()
        command = [program(name, PACKAGES.get(name, "")), *arguments, *addresses]
        return {"args": command, "cwd": PROGRAMS, "env": environ}

    return prepare


@pytest.fixture(scope="module")
def plain() -> Iterator[Stack]:
    with running(Flavour.PLAIN) as stack:
        yield stack


@pytest.fixture(scope="module")
def secure(certificates: Certificates) -> Iterator[Stack]:
    with running(Flavour.LOCAL_TLS, certificates=certificates) as stack:
        yield stack


@pytest.fixture(scope="module", params=["http", "https", "nginx", "haproxy"])
def addresses(
    request: pytest.FixtureRequest, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, ...]]:
    """The addresses for a client. The labs are used directly, because they refuse the requests of a proxy."""
    stack: Stack = request.getfixturevalue("secure" if request.param == "https" else "plain")
    login, labs = stack.provider.local_url, (f"{stack.provider.local_url}/lab", f"{stack.service.local_url}/lab")
    upstream, (http, https), folder = int(login.rpartition(":")[2]), free_ports(2), tmp_path_factory.mktemp("proxy")
    if request.param == "nginx":
        with nginx(folder, (http, https), upstream, certificates):
            yield f"https://localhost:{https}", *labs
    elif request.param == "haproxy":
        with haproxy(folder, http, upstream):
            yield f"http://localhost:{http}", *labs
    else:
        yield login, *labs


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_logs_in_and_uses_the_labs(prepare: Prepare, addresses: tuple[str, ...], client: str) -> None:
    done = subprocess.run(
        **prepare(client, *addresses), capture_output=True, text=True, timeout=4 * PATIENCE, check=False
    )
    if done.returncode == MISSING:
        pytest.skip(done.stdout)

    assert done.stderr == ""
    assert json.loads(done.stdout) == {"statuses": [201, 200, 302, 200, 200, 200], "name": "Rhea Quill"}
