"""A vault, a clock and a provider for the storage tests."""

from __future__ import annotations

import pytest

from chatkey_server.clock import Clock
from chatkey_server.storage.vault import Vault

NOW = 1_795_000_000


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until it is advanced."""
    return Clock(lambda: float(NOW))


@pytest.fixture(scope="session")
def vault() -> Vault:
    """A vault with one master key."""
    return Vault(["m" * 32])
