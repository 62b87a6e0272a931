"""Signing keys and JWTs. Until the first signature, `cryptography` is not imported and no key is generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from chatkey_oauth.engine.text import base64url, from_base64url

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

KEYS: Final = 5
"""The number of keys that stay published: the current key and the keys before it."""


def make_key() -> RSAPrivateKey:
    """Generate a 2048-bit RSA key. This takes about 50 ms."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def hexadecimal(digest: bytes) -> str:
    """Return a `kid` in the most common format, which is 40 hexadecimal digits."""
    return digest.hex()[:40]


class Draft(NamedTuple):
    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signature: Callable[[bytes], bytes]


class KeyRing:
    """The signing keys of one provider, newest first. Only the public halves are published.

    `kid` converts the digest of a key into a key id in the provider's format.
    """

    def __init__(
        self, make: Callable[[], RSAPrivateKey], first: int = 1, kid: Callable[[bytes], str] = hexadecimal
    ) -> None:
        self._make = make
        self._first = first
        self._kid = kid
        self._keys: list[tuple[str, RSAPrivateKey]] = []

    def rotate(self) -> str:
        """Switch to a new signing key, and return its `kid`. The earlier keys stay published."""
        key = self._make()
        kid = self._kid(sha256(public_numbers(key)[1].encode()).digest())
        self._keys = [(kid, key), *self._keys][:KEYS]
        return kid

    @property
    def keys(self) -> list[tuple[str, RSAPrivateKey]]:
        """The keys with their `kid`, newest first. The keys are generated at the first access."""
        while len(self._keys) < self._first:
            self.rotate()
        return self._keys

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """Return the public keys as a JWK set (RFC 7517 5)."""
        return {"keys": [public_jwk(kid, key) for kid, key in self.keys]}

    def draft(self, claims: Mapping[str, Any], *, typ: str | None = "JWT") -> Draft:
        """Return an unsigned JWT that will be signed with the newest key and RS256."""
        kid, key = self.keys[0]
        return Draft({"alg": "RS256", "kid": kid} | ({"typ": typ} if typ else {}), claims, partial(rs256, key))

    def sign(self, claims: Mapping[str, Any], *, typ: str | None = "JWT") -> str:
        """Return a signed RS256 JWT in compact form."""
        return seal(self.draft(claims, typ=typ))

    def verified(self, token: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return header and claims of a JWT that was signed with one of these keys. Return None for anything else."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        signed, _, signature = token.rpartition(".")
        try:
            header, claims = (
                msgspec.json.decode(from_base64url(part), type=dict[str, Any]) for part in signed.split(".")
            )
            key = dict(self.keys)[header["kid"]]
            key.public_key().verify(from_base64url(signature), signed.encode(), PKCS1v15(), SHA256())
        except (ValueError, KeyError, TypeError, RecursionError, InvalidSignature):
            return None
        return header, claims

    def certificates(self, now: float) -> dict[str, str]:
        """Return the public keys as self-signed PEM certificates by `kid`.

        This is the older of Google's two formats.
        """
        from chatkey_oauth.engine.certificates import certificate

        return {kid: certificate(key, now) for kid, key in self.keys}


def seal(draft: Draft) -> str:
    """Sign a JWT and return it in compact form (RFC 7515 3.1)."""
    signed = f"{base64url(msgspec.json.encode(draft.header))}.{base64url(msgspec.json.encode(draft.claims))}"
    return f"{signed}.{base64url(draft.signature(signed.encode()))}"


def rs256(key: RSAPrivateKey, signed: bytes) -> bytes:
    """Return the RS256 signature (RFC 7518 3.3)."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    return key.sign(signed, PKCS1v15(), SHA256())


def public_numbers(key: RSAPrivateKey) -> tuple[str, str]:
    numbers = key.public_key().public_numbers()
    return base64url(octets(numbers.e)), base64url(octets(numbers.n))


def public_jwk(kid: str, key: RSAPrivateKey) -> dict[str, str]:
    """Return the public half of a key as a JWK (RFC 7518 6.3.1)."""
    e, n = public_numbers(key)
    return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": n, "e": e}


def octets(number: int) -> bytes:
    """Encode a positive integer as big-endian bytes without leading zeros (RFC 7518 2)."""
    return number.to_bytes((number.bit_length() + 7) // 8)


def half_hash(token: str) -> str:
    """Return `at_hash` or `c_hash`: the left half of the SHA-256, in base64url (OpenID Connect Core 3.1.3.6)."""
    return base64url(sha256(token.encode()).digest()[:16])
