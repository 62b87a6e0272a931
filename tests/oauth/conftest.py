"""Fixtures for a fake without a network. Every provider has one application of ours and one of another owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import NOW, SITES, Site, Visitor, apple_secret, client, content, parameters

from chatkey_oauth.app import App, create_app
from chatkey_oauth.clock import Clock
from chatkey_oauth.engine.http import Answer
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
def sites() -> Mapping[str, Site]:
    return SITES


@pytest.fixture
def visit(fake: App) -> Callable[[str], Visitor]:
    """Return a function that creates a visitor for the provider with this name."""
    return lambda name: Visitor(fake, name)


@pytest.fixture
def make_secret() -> Callable[..., str]:
    """Return a function that signs a client secret for an Apple application. Keyword arguments replace claims."""
    return apple_secret


@pytest.fixture(name="parameters")
def _parameters() -> Callable[[Answer], dict[str, str]]:
    return parameters


@pytest.fixture(name="content")
def _content() -> Callable[[Answer], Any]:
    return content


@pytest.fixture
def google(fake: App) -> Visitor:
    return Visitor(fake, "google")


@pytest.fixture
def facebook(fake: App) -> Visitor:
    return Visitor(fake, "facebook")


@pytest.fixture
def github(fake: App) -> Visitor:
    return Visitor(fake, "github")


@pytest.fixture
def gitlab(fake: App) -> Visitor:
    return Visitor(fake, "gitlab")


@pytest.fixture
def discord(fake: App) -> Visitor:
    return Visitor(fake, "discord")


@pytest.fixture
def apple(fake: App) -> Visitor:
    return Visitor(fake, "apple")


@pytest.fixture
def x(fake: App) -> Visitor:
    return Visitor(fake, "x")


@pytest.fixture
def tiktok(fake: App) -> Visitor:
    return Visitor(fake, "tiktok")


@pytest.fixture
def amazon(fake: App) -> Visitor:
    return Visitor(fake, "amazon")
