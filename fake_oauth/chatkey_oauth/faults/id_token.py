"""Faults of the id_token, each of which alone makes it worthless (OpenID Connect Core 3.1.3.7)."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.signing import Draft, public_jwk, rs256
from chatkey_oauth.faults.fault import Fault

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.faults.moment import Moment

Value = Annotated[str, msgspec.Meta(max_length=500, description="The value instead.")]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=315_360_000, description="By how many seconds.")]
Claim = Annotated[str, msgspec.Meta(min_length=1, max_length=100, description="Which claim.")]

STRANGER_KID = "0" * 40


class IdTokenFault(Fault):
    """What all faults of the id_token have in common."""

    legs = (Leg.TOKEN,)


# Signature


class BadSignature(IdTokenFault):
    """One byte of the id_token's signature is another."""

    name = "bad-signature"
    on_menu = True

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Invert the bits of the signature's first byte."""
        return token._replace(signature=lambda signed: flipped(token.signature(signed)))


class ForeignKey(IdTokenFault):
    """The id_token names a published key and is signed by another."""

    name = "foreign-key"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Sign with a key that is never published, under the `kid` of the published one."""
        return signed_by_stranger(token, at)


class UnknownKid(IdTokenFault):
    """The id_token is signed by a key that is not published, under a `kid` that nobody knows."""

    name = "unknown-kid"
    on_menu = True

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Sign with a key that is never published, under a `kid` of its own."""
        return with_header(signed_by_stranger(token, at), kid=STRANGER_KID)


class EmbeddedKey(IdTokenFault):
    """The id_token brings the key along by which it is signed, in the header `jwk`."""

    name = "embedded-key"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Sign with a stranger's key and put its public half into the header, where nobody may trust it."""
        return with_header(signed_by_stranger(token, at), jwk=public_jwk(STRANGER_KID, at.stranger()))


class NoKid(IdTokenFault):
    """The id_token does not name the key it is signed by; the signature holds."""

    name = "no-kid"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Leave `kid` out of the header."""
        return token._replace(header={name: value for name, value in token.header.items() if name != "kid"})


class AlgNone(IdTokenFault):
    """The id_token has `alg` none and no signature."""

    name = "alg-none"
    on_menu = True

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Set `alg` to none and leave the signature empty (RFC 7518 3.6)."""
        return with_header(token, alg="none")._replace(signature=lambda _: b"")


class AlgHs256(IdTokenFault):
    """The id_token is signed with HS256, with the published public key as the secret."""

    name = "alg-hs256"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Make an HMAC with the public key as its secret: the confusion of algorithms (RFC 8725 2.1)."""
        secret = public_pem(at.provider.keys.keys[0][1])
        return with_header(token, alg="HS256")._replace(
            signature=lambda signed: hmac.new(secret, signed, sha256).digest()
        )


class UnknownCrit(IdTokenFault):
    """The id_token demands, in the header `crit`, an extension that nobody knows (RFC 7515 4.1.11)."""

    name = "unknown-crit"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Name an invented extension in `crit`, and put it into the header."""
        return with_header(token, crit=["https://extension.invalid"], **{"https://extension.invalid": True})


class KeysRotated(IdTokenFault):
    """The signing key changes in the midst of the login; both keys are published."""

    name = "keys-rotated"
    on_menu = True

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Rotate the provider's keys and sign with the new one."""
        at.provider.keys.rotate()
        return at.provider.keys.draft(token.claims, typ=at.provider.id_token_typ)


# Claims


class WrongIssuer(IdTokenFault):
    """The id_token's `iss` is another issuer."""

    name = "wrong-iss"
    on_menu = True
    value: Value = "https://issuer.invalid"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Set `iss` to another issuer."""
        return with_claims(token, iss=self.value)


class WrongAudience(IdTokenFault):
    """The id_token is for another client."""

    name = "wrong-aud"
    on_menu = True
    value: Value = "another-client"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Set `aud` to another client, as text or list, whichever this provider sends."""
        is_list = isinstance(token.claims.get("aud"), list)
        return with_claims(token, aud=[self.value] if is_list else self.value)


class SecondAudience(IdTokenFault):
    """The id_token is for this client and another, and does not say who asked for it (no `azp`)."""

    name = "second-aud"
    value: Value = "another-client"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Make `aud` a list of this client and another, and leave out `azp`."""
        aud = token.claims.get("aud")
        ours = aud if isinstance(aud, list) else [aud]
        return with_claims(without_claim(token, "azp") or token, aud=[*ours, self.value])


class WrongAzp(IdTokenFault):
    """The id_token was asked for by another client: `azp` is not ours."""

    name = "wrong-azp"
    value: Value = "another-client"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Set `azp` to another client."""
        return with_claims(token, azp=self.value)


class WrongNonce(IdTokenFault):
    """The id_token carries the nonce of another login."""

    name = "wrong-nonce"
    on_menu = True
    value: Value = "another-nonce"

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        """Set `nonce` to another value, where the request carried one."""
        return with_claims(token, nonce=self.value) if "nonce" in token.claims else None


class NoNonce(IdTokenFault):
    """The id_token does not carry the nonce that was sent."""

    name = "no-nonce"

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        """Leave out `nonce`, where the request carried one."""
        return without_claim(token, "nonce")


class Expired(IdTokenFault):
    """The id_token expired before it was issued to us: all its times are in the past."""

    name = "expired"
    on_menu = True
    seconds: Seconds = 86400

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Move all times of the id_token into the past."""
        return moved(token, -self.seconds)


class FromTheFuture(IdTokenFault):
    """The id_token was issued in the future: all its times are ahead."""

    name = "issued-in-future"
    seconds: Seconds = 86400

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Move all times of the id_token into the future."""
        return moved(token, self.seconds)


class WrongAtHash(IdTokenFault):
    """The id_token belongs to another access token: `at_hash` does not match."""

    name = "wrong-at-hash"

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        """Replace `at_hash`, where there is one, by that of no token of ours."""
        return with_claims(token, at_hash="AAAAAAAAAAAAAAAAAAAAAA") if "at_hash" in token.claims else None


class NoClaim(IdTokenFault):
    """The id_token lacks a claim it must have."""

    name = "no-claim"
    claim: Claim = "sub"

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        """Leave out the claim, where there is one."""
        return without_claim(token, self.claim)


class SubjectNumber(IdTokenFault):
    """The id_token's `sub` is a number, where a text is due."""

    name = "sub-number"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Set `sub` to a number beyond what a double holds."""
        return with_claims(token, sub=109_876_543_210_987_654)


def with_header(token: Draft, **members: Any) -> Draft:
    """A draft with members of the header set anew."""
    return token._replace(header={**token.header, **members})


def with_claims(token: Draft, **claims: Any) -> Draft:
    """A draft with claims set anew."""
    return token._replace(claims={**token.claims, **claims})


def without_claim(token: Draft, name: str) -> Draft | None:
    """A draft without a claim; None if it has none."""
    if name not in token.claims:
        return None
    return token._replace(claims={key: value for key, value in token.claims.items() if key != name})


def moved(token: Draft, seconds: int) -> Draft:
    """A draft with all its times moved."""
    times = {name: token.claims[name] + seconds for name in ("iat", "exp", "auth_time") if name in token.claims}
    return with_claims(token, **times)


def flipped(signature: bytes) -> bytes:
    """A signature with the bits of its first byte inverted."""
    return bytes([signature[0] ^ 0xFF]) + signature[1:]


def signed_by_stranger(token: Draft, at: Moment) -> Draft:
    """A draft that a key will sign which is never published."""
    key = at.stranger()
    return token._replace(signature=lambda signed: rs256(key, signed))


def public_pem(key: RSAPrivateKey) -> bytes:
    """The public half of a key as anybody can write it down."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
