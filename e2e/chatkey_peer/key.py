"""A browser's key and its connection proofs, made only with `cryptography`. Uses no code of server or widget."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from chatkey_protocol.names import CALL_PROOF_TYP, PROOF_HTM, PROOF_TYP

Json = dict[str, Any]

REMOVED: Final = object()
"""Value of a claim or member that is to be left out."""


def b64(raw: bytes) -> str:
    """Encode as base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """Decode base64url without padding."""
    return base64.b64decode(text.translate(str.maketrans("-_", "+/")) + "=" * (-len(text) % 4))


def dumps(value: object) -> bytes:
    """Return compact JSON. Bytes are returned unchanged, so that tests can send invalid JSON."""
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


def merged(honest: Mapping[str, Any], changes: Mapping[str, Any]) -> Json:
    """Return the valid members with the changes applied. Members that are `REMOVED` are left out."""
    return {name: value for name, value in {**honest, **changes}.items() if value is not REMOVED}


def thumbprint(jwk: Mapping[str, str]) -> str:
    """Return the thumbprint of a public P-256 key (RFC 7638)."""
    text = f'{{"crv":"P-256","kty":"EC","x":"{jwk["x"]}","y":"{jwk["y"]}"}}'
    return b64(hashlib.sha256(text.encode()).digest())


@dataclass(frozen=True)
class BrowserKey:
    """A P-256 key pair like that of a browser."""

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
        return thumbprint(self.jwk)

    @property
    def uid(self) -> str:
        """The visitor uid for this key (contract 2.3)."""
        return f"v_{self.jkt}"

    def sign(self, signed: bytes) -> bytes:
        """Return the raw r‖s signature (RFC 7518 3.4)."""
        r, s = decode_dss_signature(self.private.sign(signed, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def prove(
        self,
        *,
        token: str,
        nonce: str,
        htu: str,
        now: float | None = None,
        header: Mapping[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """Return a connection proof (D-10). `header` and `claims` replace members of a valid proof."""
        full = {"typ": PROOF_TYP, "alg": "ES256", "jwk": self.jwk}
        honest = {
            "jti": secrets.token_urlsafe(12),
            "iat": int(time.time() if now is None else now),
            "htm": PROOF_HTM,
            "htu": htu,
            "nonce": nonce,
            "ath": b64(hashlib.sha256(token.encode("ascii", "replace")).digest()),
        }
        return self.jws(merged(full, header or {}), merged(honest, claims))

    def prove_call(
        self, *, call_id: str, nonce: str, fingerprint: str, peer_fingerprint: str, typ: str = CALL_PROOF_TYP
    ) -> str:
        """Return a proof for the audio of a call (D-22)."""
        claims = {
            "jti": secrets.token_urlsafe(12),
            "iat": int(time.time()),
            "call_id": call_id,
            "nonce": nonce,
            "fingerprint": fingerprint,
            "peer_fingerprint": peer_fingerprint,
        }
        return self.jws({"typ": typ, "alg": "ES256", "jwk": self.jwk}, claims)

    def jws(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        """Return a compact JWS with this header and these claims."""
        signed = f"{b64(dumps(header))}.{b64(dumps(claims))}"
        return f"{signed}.{b64(self.sign(signed.encode()))}"
