"""Fixtures: a browser's key, tokens made with PyJWT, and proofs made with `cryptography`.

None of them use the server's code.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from chatkey_server.identity import keys, proofs
from chatkey_server.identity.tokens import Secrets

NOW = 1_795_000_020.0
HTU = "wss://chat.example/v1/socket"
SECRET = "a-secret-of-more-than-thirty-two-bytes!"

Json = dict[str, Any]


@dataclass(frozen=True)
class BrowserKey:
    private: ec.EllipticCurvePrivateKey

    @property
    def jwk(self) -> Json:
        exported: Json = ECAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        return exported

    @property
    def jkt(self) -> str:
        return keys.read_jwk(self.jwk).jkt

    def proof(self, token: str, *, nonce: str, header: Json | None = None, claims: Json | None = None) -> str:
        """Make a valid proof for this token and nonce. `header` and `claims` replace members; None removes a member."""
        full_header = {"typ": "wf-proof+jwt", "jwk": self.jwk, **(header or {})}
        full_claims = {
            "jti": "id-1",
            "iat": int(NOW),
            "htm": "GET",
            "htu": HTU,
            "nonce": nonce,
            "ath": proofs.access_token_hash(token),
            **(claims or {}),
        }
        return jwt.encode(
            {name: value for name, value in full_claims.items() if value is not None},
            self.private,
            algorithm="ES256",
            headers={name: value for name, value in full_header.items() if value is not None},
        )


@pytest.fixture
def make_key() -> Callable[[], BrowserKey]:
    return lambda: BrowserKey(ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture
def key(make_key: Callable[[], BrowserKey]) -> BrowserKey:
    return make_key()


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
