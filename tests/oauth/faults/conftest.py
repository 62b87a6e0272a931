"""Fixtures that run complete logins at a fake, with or without armed faults."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.oauth.faults.journey import MINE

from chatkey_oauth.engine.signing import make_key
from chatkey_oauth.faults.rules import Order, Rule, Scope

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.app import App

CALLBACK = "https://chat.example/callback"
SECOND_CALLBACK = "https://chat.example/second"


@pytest.fixture(scope="session")
def signing_keys() -> list[RSAPrivateKey]:
    return [make_key() for _ in range(3)]


@pytest.fixture
def fake(make_fake: Callable[..., App], signing_keys: list[RSAPrivateKey]) -> App:
    """A fake with its lab enabled. Its providers have different keys, and its applications have two redirect URIs."""
    app = make_fake(lab=True)
    keys = cycle(signing_keys)
    app.world = app.world._replace(make_key=lambda: next(keys))
    for client in app.world.clients.all():
        app.world.clients.add(msgspec.structs.replace(client, redirect_uris=(CALLBACK, SECOND_CALLBACK)))
    return app


@pytest.fixture
def arm(fake: App) -> Callable[..., Rule]:
    """Return a function that arms a fault for the flow with the state `MINE`. Keyword arguments are its options."""

    def arm(fault: str, scope: Scope | None = None, times: int | None = 1, **options: Any) -> Rule:
        return fake.faults.arm(Order(fault=fault, scope=scope or Scope(state=MINE), times=times, with_=options))

    return arm
