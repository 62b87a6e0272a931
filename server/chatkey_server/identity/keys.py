"""Reads the visitor's public key, a P-256 JWK (RFC 7517, 7518 6.2), and computes its thumbprint (RFC 7638)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePublicKey,
    EllipticCurvePublicNumbers,
)
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from chatkey_protocol.codes import Code
from chatkey_protocol.storage_keys import VISITOR_UID_PREFIX
from chatkey_server.identity import encoding
from chatkey_server.identity.errors import Refused

COORDINATE_BYTES: Final = 32
_FIELD: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
_PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_CURVE: Final = SECP256R1()
_ECDSA: Final = ECDSA(SHA256())


class PublicKey:
    """A P-256 key that was received as a JWK. `jkt` is its RFC 7638 thumbprint."""

    __slots__ = ("_key", "jkt")

    def __init__(self, key: EllipticCurvePublicKey, jkt: str) -> None:
        self._key = key
        self.jkt = jkt

    def verify(self, signature: bytes, signed: bytes) -> bool:
        """Return whether `signature` (raw r‖s, 64 bytes, RFC 7518 3.4) was made with this key over `signed`."""
        if len(signature) != 2 * COORDINATE_BYTES:
            return False
        r = int.from_bytes(signature[:COORDINATE_BYTES])
        s = int.from_bytes(signature[COORDINATE_BYTES:])
        try:
            self._key.verify(encode_dss_signature(r, s), signed, _ECDSA)
        except InvalidSignature:
            return False
        return True


def read_jwk(jwk: Mapping[str, object]) -> PublicKey:
    """Read a public P-256 JWK.

    Raises `Refused(proof_jwk)` for private members, other curves and non-canonical coordinates. A key has exactly one
    accepted form, and therefore one thumbprint and one visitor uid.
    """
    private = _PRIVATE_MEMBERS & jwk.keys()
    if private:
        raise _refused(min(private), "is a private or symmetric member; export the public key only")
    for member, wanted in (("kty", "EC"), ("crv", "P-256")):
        if jwk.get(member) != wanted:
            raise _refused(member, f"must be {wanted!r}")
    _check_purpose(jwk)
    x, y = _text(jwk, "x"), _text(jwk, "y")
    numbers = EllipticCurvePublicNumbers(_coordinate("x", x), _coordinate("y", y), _CURVE)
    try:
        key = numbers.public_key()
    except ValueError:
        raise _refused("x", "and y are not a point on the curve") from None
    return PublicKey(key, thumbprint({"crv": "P-256", "kty": "EC", "x": x, "y": y}))


def thumbprint(required: Mapping[str, str]) -> str:
    """Return the SHA-256 thumbprint of a key. `required` must contain exactly the members that RFC 7638 3 requires."""
    canonical = json.dumps(dict(required), sort_keys=True, separators=(",", ":"))
    return encoding.encode(hashlib.sha256(canonical.encode()).digest())


def is_jkt(text: str) -> bool:
    """Return whether a text has the form of a SHA-256 thumbprint: 43 characters of canonical base64url."""
    if len(text) != 43:
        return False
    try:
        encoding.decode(text)
    except encoding.Malformed:
        return False
    return True


def visitor_uid(jkt: str) -> str:
    """Return the `wf_visitor_uid` for the key with this thumbprint (contract 2.3, D-04)."""
    return VISITOR_UID_PREFIX + jkt


def jkt_of_visitor(uid: str) -> str | None:
    """Return the thumbprint in a visitor uid, or None if the uid is not well-formed."""
    jkt = uid.removeprefix(VISITOR_UID_PREFIX)
    return jkt if jkt != uid and is_jkt(jkt) else None


def _check_purpose(jwk: Mapping[str, object]) -> None:
    if jwk.get("use", "sig") != "sig":
        raise _refused("use", "must be 'sig' or absent")
    if jwk.get("alg", "ES256") != "ES256":
        raise _refused("alg", "must be 'ES256' or absent")
    operations = jwk.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        raise _refused("key_ops", "must contain 'verify' or be absent")


def _text(jwk: Mapping[str, object], member: str) -> str:
    text = jwk.get(member)
    if not isinstance(text, str):
        raise _refused(member, "must be a string")
    return text


def _coordinate(member: str, text: str) -> int:
    try:
        raw = encoding.decode(text)
    except encoding.Malformed as wrong:
        raise _refused(member, f"is {wrong}", cause=f"{member} is {wrong}") from None
    if len(raw) != COORDINATE_BYTES:
        raise _refused(member, f"has {len(raw)} bytes; a P-256 coordinate has {COORDINATE_BYTES}")
    number = int.from_bytes(raw)
    if number >= _FIELD:  # a larger number is the same point for a library that reduces it, but has another thumbprint
        raise _refused(member, "is not less than the prime of the field")
    return number


def _refused(member: str, what: str, cause: str | None = None) -> Refused:
    return Refused(Code.PROOF_JWK, f"jwk.{member} {what}.", member=f"jwk.{member}", cause=cause)
