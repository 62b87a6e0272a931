"""Builds the one-time proof that opens a socket (contract 4.9, D-10). WebCrypto makes the signature."""

import hashlib
import json
from dataclasses import dataclass

from chatkey_protocol.names import PROOF_HTM, PROOF_TYP
from chatkey_widget.keys import PublicKey, base64url


def access_token_hash(token: str) -> str:
    """Return `ath`: base64url SHA-256 of the token's ASCII (RFC 9449 section 4.2)."""
    return base64url(hashlib.sha256(token.encode("ascii")).digest())


@dataclass(frozen=True, slots=True)
class Proof:
    header: dict[str, object]
    claims: dict[str, object]

    @property
    def signing_input(self) -> str:
        """The text that is signed, as ASCII (RFC 7515 section 5.1)."""
        return f"{_segment(self.header)}.{_segment(self.claims)}"


def build(key: PublicKey, *, token: str, nonce: str, htu: str, jti: str, now: float) -> Proof:
    """Build the proof for this key, this token, the nonce of this connection, and this address.

    The proof contains the address without the query.
    """
    header: dict[str, object] = {"typ": PROOF_TYP, "alg": "ES256", "jwk": key.jwk}
    claims: dict[str, object] = {
        "jti": jti,
        "iat": int(now),
        "htm": PROOF_HTM,
        "htu": htu.partition("?")[0],
        "nonce": nonce,
        "ath": access_token_hash(token),
    }
    return Proof(header, claims)


def compact(signing_input: str, signature: bytes) -> str:
    """Join the signed text and the raw r‖s signature (RFC 7518 section 3.4) into a compact JWS."""
    return f"{signing_input}.{base64url(signature)}"


def _segment(value: dict[str, object]) -> str:
    return base64url(json.dumps(value, separators=(",", ":")).encode("utf-8"))
