"""Apple's client secret, an ES256 JWT.

The client signs the JWT. The fake verifies the signature with the client's registered key.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from chatkey_oauth.engine.clients import ClientError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

    from chatkey_oauth.engine.clients import Client

LONGEST: Final = 15_777_000
"""The longest lifetime of a secret, in seconds: six months."""
SKEW: Final = 60
"""The number of seconds by which the client's clock may be ahead."""
BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+")

T = TypeVar("T")


class Header(msgspec.Struct):
    """The members of the JWT header that are checked."""

    alg: str
    kid: str


class Claims(msgspec.Struct):
    """The claims. All of them are required."""

    iss: str
    sub: str
    aud: str | list[str]
    iat: float
    exp: float


class BadSecret(ValueError):
    """An invalid client secret. The message names the invalid part and the reason, but never contains the secret."""


def verify(secret: str, client: Client, *, audiences: Collection[str], now: float) -> None:
    """Verify that a secret was signed with the client's key, for this client and one of the audiences.

    Raises `BadSecret`.
    """
    parts = secret.split(".")
    if len(parts) != 3:
        raise BadSecret(f"it has {len(parts)} parts instead of the three of a JWT")
    header_part, claims_part, signature = parts
    header = decode(header_part, Header, "header")
    if header.alg != "ES256":
        raise BadSecret(f"its alg is {header.alg!r:.100}, not 'ES256'")
    if header.kid != client.key_id:
        raise BadSecret(f"its kid is {header.kid!r:.100}, but the registered key_id is {client.key_id!r}")
    check_signature(f"{header_part}.{claims_part}", unbase64url(signature, "signature"), public_key(client.public_key))
    check_claims(decode(claims_part, Claims, "claims"), client, audiences, now)


def check_claims(claims: Claims, client: Client, audiences: Collection[str], now: float) -> None:
    """Compare every claim with the client's registration and with the time."""
    if claims.iss != client.team_id:
        raise BadSecret(f"its iss is {claims.iss!r:.100}, but the registered team_id is {client.team_id!r}")
    if claims.sub != client.client_id:
        raise BadSecret(f"its sub is {claims.sub!r:.100}, not the client_id")
    if not any(claims.aud in (audience, [audience]) for audience in audiences):
        raise BadSecret(f"its aud is {claims.aud!r:.100}, not {' or '.join(map(repr, audiences))}")
    if claims.iat > now + SKEW:
        raise BadSecret(f"its iat is {claims.iat - now:.0f} seconds in the future")
    if claims.exp - claims.iat > LONGEST:
        raise BadSecret(f"its exp is more than {LONGEST} seconds after its iat")
    if claims.exp <= now:
        raise BadSecret(f"its exp passed {now - claims.exp:.0f} seconds ago")


def check_signature(signed: str, signature: bytes, key: EllipticCurvePublicKey) -> None:
    """Verify an ES256 signature: r and s concatenated, 32 bytes each (RFC 7518 3.4)."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    if len(signature) != 64:
        raise BadSecret(f"its signature has {len(signature)} bytes instead of the 64 of r and s; it must not be DER")
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
    try:
        key.verify(encode_dss_signature(r, s), signed.encode("utf-8", "surrogateescape"), ECDSA(SHA256()))
    except InvalidSignature:
        raise BadSecret("its signature was not made with the registered key") from None


def decode(part: str, kind: type[T], name: str) -> T:
    try:
        return msgspec.json.decode(unbase64url(part, name), type=kind)
    except msgspec.MsgspecError as error:
        raise BadSecret(f"its {name}: {error}") from None
    except RecursionError:
        raise BadSecret(f"its {name} is nested too deeply") from None


def unbase64url(part: str, name: str) -> bytes:
    """Decode base64url without padding (RFC 7515 2)."""
    if not BASE64URL.fullmatch(part):
        raise BadSecret(f"its {name} is not base64url without padding")
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except Base64Error:
        raise BadSecret(f"its {name} is truncated") from None


# The registered key


def check_application(client: Client) -> None:
    """Check that an Apple client can authenticate. Raises `ClientError`, which names the invalid member."""
    where = f"client {client.client_id!r} of apple"
    if client.client_secret:
        raise ClientError(
            f"client_secret: {where} has none, because it signs its secrets with a key. Set public_key instead"
        )
    for member in ("team_id", "key_id", "public_key"):
        if not getattr(client, member):
            raise ClientError(f"{member}: {where} needs team_id, key_id and public_key")
    try:
        public_key(client.public_key)
    except ValueError as error:
        raise ClientError(f"public_key of {where}: {error}") from error


def public_key(key: str | Mapping[str, Any]) -> EllipticCurvePublicKey:
    """Read a P-256 public key from PEM or a JWK. Raises `ValueError`."""
    return from_pem(key) if isinstance(key, str) else from_jwk(key)


def from_pem(text: str) -> EllipticCurvePublicKey:
    """Read a PEM public key (RFC 7468 13)."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if "PRIVATE KEY" in text:
        raise ValueError("this is a private key, which must stay with its owner; use the public key instead")
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("it is not a PEM public key, which begins with -----BEGIN PUBLIC KEY-----") from None
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        return key
    raise ValueError("it is not a key on the curve P-256")


def from_jwk(jwk: Mapping[str, Any]) -> EllipticCurvePublicKey:
    """Read a public JWK (RFC 7518 6.2.1)."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicNumbers

    if "d" in jwk:
        raise ValueError("this is a private key, which must stay with its owner; remove the member d")
    if (jwk.get("kty"), jwk.get("crv")) != ("EC", "P-256"):
        raise ValueError("its kty and crv are not EC and P-256")
    x, y = (int.from_bytes(unbase64url(str(jwk.get(member, "")), member)) for member in ("x", "y"))
    try:
        return EllipticCurvePublicNumbers(x, y, SECP256R1()).public_key()
    except ValueError:
        raise ValueError("its x and y are not a point on the curve P-256") from None
