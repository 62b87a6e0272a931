"""Fixtures that run the shipped server and make honest callers (keys, tokens, proofs, peers) without the server's code.

Refusals that every service must make are cases of the suite (`chatkey_conform.suite`). `test_suite.py` runs these cases
against our service. All other tests are about our service only: many peers at once, raw requests, limits, the log, and
commands.

A test takes `service` and creates a business with `service.shop()`. The test sends an honest input, which must be
accepted, and the same input with one fault, which must be refused. A case carries the id of its row in `rows.toml`, as
the id of a parameter (`pytest.param(…, id="JWT-004")`, followed by a word if a row has several cases) or with
`@pytest.mark.row("JWT-079")`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import pytest
from tests.refusals.kit.shipped import APPLICATION, MakeService, Service, serving
from tests.refusals.kit.shop import Shop

from chatkey_conform.making.honest import Maker
from chatkey_oauth.client import FakeOAuth
from chatkey_peer.key import BrowserKey
from chatkey_protocol.names import AVAILABLE_SOCIALS
from chatkey_stack.ports import LOOPBACK
from chatkey_stack.process import Process


@pytest.fixture(scope="session")
def service(make_service: MakeService) -> Iterator[Service]:
    """The shipped server without rate limits. All tests share this process."""
    with make_service() as made:
        yield made


@pytest.fixture(scope="session")
def make_service(tmp_path_factory: pytest.TempPathFactory) -> MakeService:
    """Start a shipped server with these settings, whose names leave out the prefix `CHATKEY_`."""
    return lambda **settings: serving(tmp_path_factory.mktemp("refusals"), settings)


@pytest.fixture(autouse=True)
def _time_restored(request: pytest.FixtureRequest) -> Iterator[None]:
    """Reset the service's clock after a test that moved it."""
    yield
    if "service" in request.fixturenames:
        service: Service = request.getfixturevalue("service")
        if service.offset:
            service.reset()


@pytest.fixture(scope="session")
def make() -> Maker:
    """Make signed tokens (JWS) and proofs with any fault."""
    return Maker()


@pytest.fixture
def key() -> BrowserKey:
    return BrowserKey()


@pytest.fixture(scope="module")
def shop(service: Service) -> Shop:
    """A business that the tests of one module share."""
    return service.shop()


@pytest.fixture(scope="session")
def provider(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeOAuth]:
    """The fake provider, started at the first use. The service is configured with the fake's address beforehand."""
    folder = tmp_path_factory.mktemp("provider")
    clients = [
        {
            "provider": social,
            "client_id": APPLICATION.client_id,
            "client_secret": APPLICATION.client_secret,
            "name": "Refusals",
            "redirect_uris": [f"{service.base_url}/v1/public/oauth/{social}/callback"],
        }
        for social in AVAILABLE_SOCIALS
    ]
    (folder / "clients.json").write_text(json.dumps(clients))
    local = f"http://{LOOPBACK}:{service.provider_port}"
    command = (sys.executable, "-m", "chatkey", "fake-oauth", "--lab", "--port", str(service.provider_port))
    addresses = ("--browser-url", f"http://localhost:{service.provider_port}", "--server-url", local)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    with (
        Process(
            "provider",
            (*command, "--clients", str(folder / "clients.json"), *addresses),
            environ={**environ, "PYTHONUNBUFFERED": "1"},
            log=folder / "provider.log",
        ),
        FakeOAuth(local) as fake,
    ):
        yield fake


# the rows


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(*ids): the rows of rows.toml that this test is; it runs under each id")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the marker `row` once for each row id."""
    rows = [row for mark in metafunc.definition.iter_markers("row") for row in mark.args]
    if rows:
        metafunc.fixturenames.append("row")
        metafunc.parametrize("row", rows)


@pytest.fixture
def row(request: pytest.FixtureRequest) -> str:
    return str(request.param)
