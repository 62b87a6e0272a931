"""Fixtures for a fake without a network. Every provider has one application of ours and one of another owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import NOW, Visit, Visitor, client

from chatkey_oauth.app import App, create_app
from chatkey_oauth.clock import Clock
from chatkey_oauth.engine.signing import make_key
from chatkey_oauth.providers import NAMES
from chatkey_oauth.settings import Settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey


@pytest.fixture(scope="session")
def signing_key() -> RSAPrivateKey:
    """One key for the whole run, because creating a key takes longer than any test."""
    return make_key()


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until a test moves it."""
    return Clock(lambda: float(NOW))


@pytest.fixture
def make_fake(clock: Clock, signing_key: RSAPrivateKey) -> Callable[..., App]:
    """Return a function that creates a fake with both applications. Keyword arguments are added to the settings."""

    def make(**settings: Any) -> App:
        clients = tuple(client(name, who) for name in NAMES for who in ("ours", "theirs"))
        app = create_app(Settings(browser_url="https://id.localhost", clients=clients, **settings), clock)
        app.world = app.world._replace(make_key=lambda: signing_key)
        return app

    return make


@pytest.fixture
def fake(make_fake: Callable[..., App]) -> App:
    return make_fake(lab=True)


@pytest.fixture
def visit(fake: App) -> Visit:
    """Return a function that creates a visitor for the provider with this name."""
    return lambda name: Visitor(fake, name)


@pytest.fixture
def visitor(visit: Visit, name: str) -> Visitor:
    """A visitor for the provider in the test's parameter `name`."""
    return visit(name)


def fixture_of(name: str) -> Callable[..., Visitor]:
    """Return a fixture with a visitor for a provider."""

    @pytest.fixture(name=name)
    def fixture(visit: Visit) -> Visitor:
        return visit(name)

    return fixture


globals().update({f"_{name}": fixture_of(name) for name in NAMES})
