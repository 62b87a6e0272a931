"""Fixtures for pytest: a fake that runs in a thread of the test process, and the client for its lab.

Load this plugin with `-p chatkey_oauth.pytest_plugin`, or with `pytest_plugins = ["chatkey_oauth.pytest_plugin"]` in
the top-most conftest.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chatkey_oauth.client import FakeOAuth
from chatkey_oauth.ready_made import READY_MADE
from chatkey_oauth.serve import Listening
from chatkey_oauth.settings import Settings

HOST = "127.0.0.1"


@contextmanager
def running(**members: Any) -> Iterator[FakeOAuth]:
    """Run a fake on a free port until the block ends. `members` are fields of `Settings`."""
    with Listening(HOST, members.get("port", 0)) as listening:
        here: dict[str, Any] = {"host": HOST, "port": listening.port, "lab": True}
        settings = Settings(**{"clients": READY_MADE, **members, **here})
        with listening.serving(settings), FakeOAuth(settings.listens_at) as fake:
            yield fake


@pytest.fixture(scope="session")
def fake_oauth_settings() -> dict[str, Any]:
    """The fields of `Settings` for the fake. A conftest.py can override this fixture."""
    return {}


@pytest.fixture(scope="session")
def running_fake_oauth(fake_oauth_settings: dict[str, Any]) -> Iterator[FakeOAuth]:
    """The fake of this session. It starts with the first test that uses it."""
    with running(**fake_oauth_settings) as fake:
        yield fake


@pytest.fixture
def fake_oauth(running_fake_oauth: FakeOAuth) -> FakeOAuth:
    """The client for the fake of this session.

    The fixture resets the fake to its initial state. `fake_oauth.url` is the fake's address.
    """
    running_fake_oauth.reset()
    return running_fake_oauth
