"""Makes valid keys, tokens and proofs as browsers and integrators do, independently of the server's code."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

Json = dict[str, Any]

REMOVED: Final = object()
"""Value of a claim or member that is to be left out."""


def b64(raw: bytes) -> str:
    """Encode as base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """Decode base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def dumps(value: object) -> bytes:
    """Return compact JSON. Bytes are returned unchanged, so that tests can send invalid JSON."""
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


def merged(honest: Mapping[str, Any], changes: Mapping[str, Any]) -> Json:
    """Return the valid members with the changes applied, without those that are `REMOVED`."""
    return {name: value for name, value in {**honest, **changes}.items() if value is not REMOVED}


@dataclass(frozen=True)
class BrowserKey:
    """A P-256 key pair, as a browser has it."""

    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1()), repr=False
    )

    @property
    def jwk(self) -> dict[str, str]:
        """The public key (RFC 7517)."""
        numbers = self.private.public_key().public_numbers()
        x, y = (b64(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    @property
    def jkt(self) -> str:
        """The thumbprint of the public key (RFC 7638)."""
        jwk = self.jwk
        text = f'{{"crv":"P-256","kty":"EC","x":"{jwk["x"]}","y":"{jwk["y"]}"}}'
        return b64(hashlib.sha256(text.encode()).digest())

    @property
    def uid(self) -> str:
        """The visitor uid for this key (contract 2.3)."""
        return f"v_{self.jkt}"

    def sign(self, signed: bytes) -> bytes:
        """Return the raw r‖s signature (RFC 7518 3.4)."""
        r, s = decode_dss_signature(self.private.sign(signed, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class Maker:
    """Makes JWS and tokens, valid or faulty. A member that is `REMOVED` is left out; bytes are used unchanged."""

    b64 = staticmethod(b64)
    unb64 = staticmethod(unb64)
    dumps = staticmethod(dumps)
    merged = staticmethod(merged)
    removed: Final = REMOVED

    def mac(self, signed: str | bytes, key: bytes, digest: str = "sha256") -> bytes:
        """Return the HMAC, with SHA-256 by default."""
        return hmac.digest(key, signed if isinstance(signed, bytes) else signed.encode(), digest)

    def jws(self, header: object, payload: object, key: bytes) -> str:
        """Return a compact JWS with an HS256 MAC, even if the header names another algorithm."""
        signed = f"{b64(dumps(header))}.{b64(dumps(payload))}"
        return f"{signed}.{b64(self.mac(signed, key))}"

    def minute_key(self, secret: bytes, at: float) -> bytes:
        """Return the key that signs visitor tokens issued at `at` (contract 2.6)."""
        return self.mac(time.strftime("%H:%M", time.gmtime(at)), secret)

    def proof(
        self,
        key: BrowserKey,
        *,
        token: str,
        nonce: str,
        htu: str,
        now: float,
        header: Mapping[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """Return a connection proof (D-10). `header` and `claims` override members of a valid one."""
        full = {"typ": "wf-proof+jwt", "alg": "ES256", "jwk": key.jwk}
        honest = {
            "jti": secrets.token_urlsafe(12),
            "iat": int(now),
            "htm": "GET",
            "htu": htu,
            "nonce": nonce,
            "ath": b64(hashlib.sha256(token.encode("ascii", "replace")).digest()),
        }
        signed = f"{b64(dumps(merged(full, header or {})))}.{b64(dumps(merged(honest, claims)))}"
        return f"{signed}.{b64(key.sign(signed.encode()))}"
