"""Signing keys and JWTs. Until the first signature, `cryptography` is not imported and no key is generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from chatkey_oauth.engine.text import base64url, from_base64url

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.hashes import SHA256

    PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey

KEYS: Final = 5
"""The number of keys that stay published: the current key and the keys before it."""


def make_key() -> RSAPrivateKey:
    """Generate a 2048-bit RSA key. This takes about 50 ms."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def make_ec_key() -> EllipticCurvePrivateKey:
    """Generate a key on the curve P-256, for ES256."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def hexadecimal(digest: bytes) -> str:
    """Return a `kid` in the most common format, which is 40 hexadecimal digits."""
    return digest.hex()[:40]


class Draft(NamedTuple):
    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signature: Callable[[bytes], bytes]


class Key(NamedTuple):
    """A signing key with its id and its algorithm: RS256 or ES256."""

    kid: str
    private: PrivateKey
    algorithm: str


class KeyRing:
    """The signing keys of one provider, newest first. Only the public halves are published.

    `kid` converts the digest of a key into a key id in the provider's format.
    """

    def __init__(
        self, make: Callable[[], PrivateKey], first: int = 1, kid: Callable[[bytes], str] = hexadecimal
    ) -> None:
        self._make = make
        self._first = first
        self._kid = kid
        self._keys: list[Key] = []

    def rotate(self) -> str:
        """Switch to a new signing key, and return its `kid`. The earlier keys stay published."""
        key = self._make()
        jwk = public_jwk("", key)
        kid = self._kid(sha256(jwk.get("n", jwk.get("x", "")).encode()).digest())
        self._keys = [Key(kid, key, jwk["alg"]), *self._keys][:KEYS]
        return kid

    @property
    def keys(self) -> list[Key]:
        """The keys, newest first. They are generated at the first access."""
        while len(self._keys) < self._first:
            self.rotate()
        return self._keys

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """Return the public keys as a JWK set (RFC 7517 5)."""
        return {"keys": [public_jwk(key.kid, key.private) for key in self.keys]}

    def draft(self, claims: Mapping[str, Any], *, typ: str | None = "JWT") -> Draft:
        """Return an unsigned JWT that will be signed with the newest key."""
        kid, key, algorithm = self.keys[0]
        header = {"alg": algorithm, "kid": kid} | ({"typ": typ} if typ else {})
        return Draft(header, claims, partial(SIGNATURES[algorithm], key))

    def sign(self, claims: Mapping[str, Any], *, typ: str | None = "JWT") -> str:
        """Return a signed JWT in compact form."""
        return seal(self.draft(claims, typ=typ))

    def verified(self, token: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return header and claims of a JWT that was signed with one of these keys. Return None for anything else."""
        from cryptography.exceptions import InvalidSignature

        signed, _, signed_with = token.rpartition(".")
        try:
            header, claims = (
                msgspec.json.decode(from_base64url(part), type=dict[str, Any]) for part in signed.split(".")
            )
            key = {key.kid: key.private for key in self.keys}[header["kid"]]
            verify(key, from_base64url(signed_with), signed.encode())
        except (ValueError, KeyError, TypeError, RecursionError, InvalidSignature):
            return None
        return header, claims

    def certificates(self, now: float) -> dict[str, str]:
        """Return the public RSA keys as self-signed PEM certificates by `kid`.

        This is the older of Google's two formats.
        """
        from chatkey_oauth.engine.certificates import certificate

        return {key.kid: certificate(key.private, now) for key in self.keys}


def seal(draft: Draft) -> str:
    """Sign a JWT and return it in compact form (RFC 7515 3.1)."""
    signed = f"{base64url(msgspec.json.encode(draft.header))}.{base64url(msgspec.json.encode(draft.claims))}"
    return f"{signed}.{base64url(draft.signature(signed.encode()))}"


def verify(key: PrivateKey, given: bytes, signed: bytes) -> None:
    """Check a signature. Raises `InvalidSignature`."""
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    if isinstance(key, RSAPrivateKey):
        key.public_key().verify(given, signed, PKCS1v15(), SHA256())
    else:
        encoded = encode_dss_signature(int.from_bytes(given[:32]), int.from_bytes(given[32:]))
        key.public_key().verify(encoded, signed, ECDSA(SHA256()))


def es256(key: EllipticCurvePrivateKey, signed: bytes) -> bytes:
    """Return the ES256 signature (RFC 7518 3.4)."""
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    return b"".join(part.to_bytes(32) for part in decode_dss_signature(key.sign(signed, ECDSA(SHA256()))))


def rs256(key: RSAPrivateKey, signed: bytes) -> bytes:
    """Return the RS256 signature (RFC 7518 3.3)."""
    return key.sign(signed, *pkcs1_with_sha256())


@cache
def pkcs1_with_sha256() -> tuple[PKCS1v15, SHA256]:
    """Return the padding and the hash of RS256. They are created once, because each import takes a microsecond."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    return PKCS1v15(), SHA256()


SIGNATURES: Final[Mapping[str, Callable[[Any, bytes], bytes]]] = {"RS256": rs256, "ES256": es256}
"""The functions that sign, by algorithm."""


def public_numbers(key: RSAPrivateKey) -> tuple[str, str]:
    numbers = key.public_key().public_numbers()
    return base64url(octets(numbers.e)), base64url(octets(numbers.n))


def public_jwk(kid: str, key: PrivateKey) -> dict[str, str]:
    """Return the public half of a key as a JWK (RFC 7518 6.2.1, 6.3.1)."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if not isinstance(key, RSAPrivateKey):
        point = key.public_key().public_numbers()
        x, y = (base64url(number.to_bytes(32)) for number in (point.x, point.y))
        return {"kty": "EC", "use": "sig", "alg": "ES256", "kid": kid, "crv": "P-256", "x": x, "y": y}
    e, n = public_numbers(key)
    return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": n, "e": e}


def octets(number: int) -> bytes:
    """Encode a positive integer as big-endian bytes without leading zeros (RFC 7518 2)."""
    return number.to_bytes((number.bit_length() + 7) // 8)


def half_hash(token: str) -> str:
    """Return `at_hash` or `c_hash`: the left half of the SHA-256, in base64url (OpenID Connect Core 3.1.3.6)."""
    return base64url(sha256(token.encode()).digest()[:16])
