"""Fixtures for tests of client libraries: the fake with its ready-made applications, and a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from tests.oauth.clients.browser import Browser

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.pytest_plugin import running
from chatkey_oauth.ready_made import READY_MADE
from chatkey_stack.patience import PATIENCE

CALLBACK = "http://127.0.0.1:4999/callback"


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The base address of the fake. Each provider is at `/NAME` under this address."""
    with running() as fake:
        yield fake.url


@pytest.fixture
def lab(address: str) -> Iterator[httpx.Client]:
    """A client of the fake's control API. This fixture resets the fake first."""
    with httpx.Client(base_url=f"{address}/lab", trust_env=False, verify=False, timeout=PATIENCE) as client:
        client.post("/reset").raise_for_status()
        yield client


@pytest.fixture
def traffic(lab: httpx.Client) -> Callable[[str], list[dict[str, Any]]]:
    """Return a function that lists the requests to a provider since the test began, for paths with a given ending."""
    before = lab.get("/requests").json()["data"]["last"]

    def asked(provider: str, ending: str = "") -> list[dict[str, Any]]:
        found = lab.get("/requests", params={"after": before, "provider": provider}).json()["data"]["requests"]
        return [entry for entry in found if entry["path"].rstrip("/").endswith(ending)]

    return asked


@pytest.fixture
def application() -> Callable[[str], Client]:
    by_provider = {client.provider: client for client in READY_MADE}
    return by_provider.__getitem__


@pytest.fixture
def callback() -> str:
    return CALLBACK


@pytest.fixture
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one
