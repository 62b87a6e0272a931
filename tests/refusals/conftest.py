"""The shipped server as one process, and honest callers made by other code than its own: keys, tokens, proofs, peers.

A test is given `service`, makes a shop of its own with `service.shop()`, and builds what it sends by fault: the honest
input is accepted, the same input with one fault is refused. A case carries the id of its row in `rows.toml`, as the id
of a parameter (`pytest.param(…, id="JWT-004")`, with a word behind it where a row has several) or by
`@pytest.mark.row("JWT-079")`. What is wrong with a single token or proof is a row of `kit/token_verdicts.py` or
`kit/proof_verdicts.py`, and no test of its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import pytest

from chatkey_e2e.conform.making.honest import BrowserKey, Json, Maker
from chatkey_oauth.client import FakeOAuth
from chatkey_protocol.names import AVAILABLE_SOCIALS
from chatkey_stack.ports import LOOPBACK
from chatkey_stack.process import Process
from doors import AuthDoor, Door, SocketDoor
from peers import Ended, Peer
from shipped import APPLICATION, MakeService, Service, serving
from shop import Shop

__all__ = [
    "AuthDoor",
    "BrowserKey",
    "Door",
    "Ended",
    "Json",
    "MakeService",
    "Maker",
    "Peer",
    "Service",
    "Shop",
    "SocketDoor",
]


@pytest.fixture(scope="session")
def service(make_service: MakeService) -> Iterator[Service]:
    """The server as it is shipped, one process for the whole run, without limits of rate."""
    with make_service() as made:
        yield made


@pytest.fixture(scope="session")
def make_service(tmp_path_factory: pytest.TempPathFactory) -> MakeService:
    """Start a server as it is shipped, with further settings; keyword arguments are `CHATKEY_*` without the prefix."""
    return lambda **settings: serving(tmp_path_factory.mktemp("refusals"), settings)


@pytest.fixture(autouse=True)
def _time_restored(request: pytest.FixtureRequest) -> Iterator[None]:
    """Put the service's clock back after a test that moved it."""
    yield
    if "service" in request.fixturenames:
        service: Service = request.getfixturevalue("service")
        if service.offset:
            service.reset()


@pytest.fixture(scope="session")
def make() -> Maker:
    """Makes JWS and proofs with any fault."""
    return Maker()


@pytest.fixture
def key() -> BrowserKey:
    """A browser's key."""
    return BrowserKey()


@pytest.fixture(scope="module")
def shop(service: Service) -> Shop:
    """The business of one module."""
    return service.shop()


@pytest.fixture(scope="session")
def provider(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeOAuth]:
    """The fake provider, started for those who ask; the service was told its address from the beginning."""
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
    """Make the marker of rows known."""
    config.addinivalue_line("markers", "row(*ids): the rows of rows.toml that this test is; it runs under each id")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that is marked with rows once under each of their ids."""
    rows = [row for mark in metafunc.definition.iter_markers("row") for row in mark.args]
    if rows:
        metafunc.fixturenames.append("row")
        metafunc.parametrize("row", rows)


@pytest.fixture
def row(request: pytest.FixtureRequest) -> str:
    """The id of the row that the test runs under."""
    return str(request.param)


@pytest.fixture
def socket_door(service: Service, shop: Shop) -> SocketDoor:
    """The socket."""
    return SocketDoor(service, shop)


@pytest.fixture
def auth_door(service: Service, shop: Shop) -> AuthDoor:
    """The member token endpoint."""
    return AuthDoor(service, shop)


@pytest.fixture(params=[SocketDoor, AuthDoor], ids=["socket", "auth"])
def door(request: pytest.FixtureRequest, service: Service, shop: Shop) -> Door:
    """Each place where a token is shown, in turn."""
    made: Door = request.param(service, shop)
    return made
