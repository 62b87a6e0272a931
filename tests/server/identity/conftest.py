"""Fixtures: browser key and proofs of `chatkey_peer`, tokens made with PyJWT. None of them use the server's code."""

from collections.abc import Callable
from typing import Any

import jwt
import pytest

from chatkey_peer.key import BrowserKey, Json
from chatkey_server.identity.tokens import Secrets

NOW = 1_795_000_020.0
SECRET = "a-secret-of-more-than-thirty-two-bytes!"


@pytest.fixture
def key() -> BrowserKey:
    return BrowserKey()


@pytest.fixture
def secrets() -> Secrets:
    return Secrets(current=SECRET.encode())


@pytest.fixture
def make_token(key: BrowserKey) -> Callable[..., str]:
    """Make an integrator's token with PyJWT. Keyword arguments replace claims; None removes a claim."""

    def make(
        *, secret: str | bytes = SECRET, header: Json | None = None, algorithm: str = "HS256", **claims: Any
    ) -> str:
        full = {
            "pid": "prov_a",
            "uid": "user-1",
            "type": "user",
            "cnf": {"jkt": key.jkt},
            "iat": int(NOW),
            "exp": int(NOW) + 3600,
            **claims,
        }
        return jwt.encode(
            {name: value for name, value in full.items() if value is not None},
            secret,
            algorithm=algorithm,
            headers=header,
        )

    return make
