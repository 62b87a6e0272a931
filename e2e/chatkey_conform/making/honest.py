"""What honest browsers and integrators make, by other code than the server's own: keys, tokens, proofs."""

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
"""As the value of a claim or member: it is left out."""


def b64(raw: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """Read base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def dumps(value: object) -> bytes:
    """Write compact JSON; bytes are left as they are, to send what no writer would write."""
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


def merged(honest: Mapping[str, Any], changes: Mapping[str, Any]) -> Json:
    """Return the honest members with the changes made, and those that are `REMOVED` left out."""
    return {name: value for name, value in {**honest, **changes}.items() if value is not REMOVED}


@dataclass(frozen=True)
class BrowserKey:
    """A P-256 pair as a browser holds it."""

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
        """The thumbprint (RFC 7638)."""
        jwk = self.jwk
        text = f'{{"crv":"P-256","kty":"EC","x":"{jwk["x"]}","y":"{jwk["y"]}"}}'
        return b64(hashlib.sha256(text.encode()).digest())

    @property
    def uid(self) -> str:
        """The visitor uid (contract 2.3)."""
        return f"v_{self.jkt}"

    def sign(self, signed: bytes) -> bytes:
        """Return the raw r‖s signature (RFC 7518 3.4)."""
        r, s = decode_dss_signature(self.private.sign(signed, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class Maker:
    """Makes JWS and tokens, whole or with any fault. `REMOVED` leaves a member out; bytes stand for themselves."""

    b64 = staticmethod(b64)
    unb64 = staticmethod(unb64)
    dumps = staticmethod(dumps)
    merged = staticmethod(merged)
    removed: Final = REMOVED

    def mac(self, signed: str | bytes, key: bytes, digest: str = "sha256") -> bytes:
        """Return the HMAC, with SHA-256 if nothing else is said."""
        return hmac.digest(key, signed if isinstance(signed, bytes) else signed.encode(), digest)

    def jws(self, header: object, payload: object, key: bytes) -> str:
        """Return a compact JWS with an HS256 MAC, whatever its header says."""
        signed = f"{b64(dumps(header))}.{b64(dumps(payload))}"
        return f"{signed}.{b64(self.mac(signed, key))}"

    def minute_key(self, secret: bytes, at: float) -> bytes:
        """Return the key of visitor tokens issued at `at` (contract 2.6)."""
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
        """Return a connection proof (D-10); `header` and `claims` change members of the honest one."""
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
