"""The public keys in the proofs of a widget."""

import hashlib
import json
from base64 import urlsafe_b64encode

import jwt


def thumbprint(jwk: dict[str, str]) -> str:
    """Return the RFC 7638 thumbprint of a public key on an elliptic curve."""
    members = json.dumps({name: jwk[name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"))
    return urlsafe_b64encode(hashlib.sha256(members.encode()).digest()).rstrip(b"=").decode()


def key_of(connection: dict[str, str]) -> dict[str, str]:
    """Return the public key from a connection's proof."""
    jwk: dict[str, str] = jwt.get_unverified_header(connection["proof"])["jwk"]
    return jwk
