"""Runs the shipped server, and makes honest callers (keys, tokens, proofs, peers) without using the server's code.

What can be asked of any service is a case of the suite (`chatkey_conform.suite`), which `test_suite.py` runs against
ours. The other tests are of what only our service can be asked: crowds, raw requests, limits, its log, its commands.

A test takes `service` and makes a business of its own with `service.shop()`. It sends an honest input, which is
accepted, and the same input with one fault, which is refused. A case carries the id of its row in `rows.toml`: as
the id of a parameter (`pytest.param(…, id="JWT-004")`, followed by a word if a row has several cases), or with
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
    """The shipped server as one process for the whole run, without rate limits."""
    with make_service() as made:
        yield made


@pytest.fixture(scope="session")
def make_service(tmp_path_factory: pytest.TempPathFactory) -> MakeService:
    """Starts a shipped server with additional settings. Keyword arguments are `CHATKEY_*` without the prefix."""
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
    """Makes signed tokens (JWS) and proofs, with any fault."""
    return Maker()


@pytest.fixture
def key() -> BrowserKey:
    """A browser's key."""
    return BrowserKey()


@pytest.fixture(scope="module")
def shop(service: Service) -> Shop:
    """A business that the tests of one module share."""
    return service.shop()


@pytest.fixture(scope="session")
def provider(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeOAuth]:
    """The fake provider, started only for tests that use it. The service knows its address from the beginning."""
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
    command = (sys.executable, "-m", "chatkey_server", "fake-oauth", "--lab", "--port", str(service.provider_port))
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
    """Register the marker `row`."""
    config.addinivalue_line("markers", "row(*ids): the rows of rows.toml that this test is; it runs under each id")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that is marked with rows once for each row id."""
    rows = [row for mark in metafunc.definition.iter_markers("row") for row in mark.args]
    if rows:
        metafunc.fixturenames.append("row")
        metafunc.parametrize("row", rows)


@pytest.fixture
def row(request: pytest.FixtureRequest) -> str:
    """The id of the row for which the test runs."""
    return str(request.param)
