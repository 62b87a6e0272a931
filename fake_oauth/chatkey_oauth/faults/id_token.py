"""Faults of the id_token. A client must reject every such id_token (OpenID Connect Core 3.1.3.7)."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.signing import Draft, public_jwk, rs256
from chatkey_oauth.faults.fault import Fault

if TYPE_CHECKING:
    from chatkey_oauth.engine.signing import PrivateKey
    from chatkey_oauth.faults.moment import Moment

Value = Annotated[str, msgspec.Meta(max_length=500, description="The replacement value.")]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=315_360_000, description="By how many seconds the times are moved.")]
Claim = Annotated[str, msgspec.Meta(min_length=1, max_length=100, description="Which claim is missing.")]

STRANGER_KID = "0" * 40


class IdTokenFault(Fault):
    legs = (Leg.TOKEN,)


# Signature


class BadSignature(IdTokenFault):
    """One byte of the id_token's signature is wrong."""

    name = "bad-signature"
    on_menu = True

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return token._replace(signature=lambda signed: flipped(token.signature(signed)))


class ForeignKey(IdTokenFault):
    """The id_token names a published key but is signed with another key."""

    name = "foreign-key"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return signed_by_stranger(token, at)


class UnknownKid(IdTokenFault):
    """The id_token is signed with an unpublished key, under an unknown `kid`."""

    name = "unknown-kid"
    on_menu = True

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return with_header(signed_by_stranger(token, at), kid=STRANGER_KID)


class EmbeddedKey(IdTokenFault):
    """The id_token contains the key that it is signed with, in the header `jwk`."""

    name = "embedded-key"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Sign with an unpublished key, and put the public half of this key into the header.

        Clients must not trust a key in the header.
        """
        return with_header(signed_by_stranger(token, at), jwk=public_jwk(STRANGER_KID, at.stranger()))


class NoKid(IdTokenFault):
    """The id_token does not name its signing key. The signature is valid."""

    name = "no-kid"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return token._replace(header={name: value for name, value in token.header.items() if name != "kid"})


class AlgNone(IdTokenFault):
    """The id_token has the `alg` "none" and no signature."""

    name = "alg-none"
    on_menu = True

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return with_header(token, alg="none")._replace(signature=lambda _: b"")


class AlgHs256(IdTokenFault):
    """The id_token is signed with HS256, with the published public key as the secret."""

    name = "alg-hs256"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Compute an HMAC with the public key as the secret. This is an algorithm confusion attack (RFC 8725 2.1)."""
        secret = public_pem(at.provider.keys.keys[0][1])
        return with_header(token, alg="HS256")._replace(
            signature=lambda signed: hmac.new(secret, signed, sha256).digest()
        )


class UnknownCrit(IdTokenFault):
    """The id_token's header `crit` requires an unknown extension (RFC 7515 4.1.11)."""

    name = "unknown-crit"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return with_header(token, crit=["https://extension.invalid"], **{"https://extension.invalid": True})


class KeysRotated(IdTokenFault):
    """The signing key changes during the login. Both keys are published."""

    name = "keys-rotated"
    on_menu = True

    def id_token(self, token: Draft, at: Moment) -> Draft:
        at.provider.keys.rotate()
        return at.provider.keys.draft(token.claims, typ=at.provider.id_token_typ)


# Claims


class WrongIssuer(IdTokenFault):
    """The id_token has the `iss` of another issuer."""

    name = "wrong-iss"
    on_menu = True
    value: Value = "https://issuer.invalid"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return with_claims(token, iss=self.value)


class WrongAudience(IdTokenFault):
    """The id_token was issued for another client."""

    name = "wrong-aud"
    on_menu = True
    value: Value = "another-client"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Set `aud` to another client. Depending on the provider, `aud` is a string or a list."""
        is_list = isinstance(token.claims.get("aud"), list)
        return with_claims(token, aud=[self.value] if is_list else self.value)


class SecondAudience(IdTokenFault):
    """The id_token's `aud` lists this client and another client, and no `azp` says which one requested the id_token."""

    name = "second-aud"
    value: Value = "another-client"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        aud = token.claims.get("aud")
        ours = aud if isinstance(aud, list) else [aud]
        return with_claims(without_claim(token, "azp") or token, aud=[*ours, self.value])


class WrongAzp(IdTokenFault):
    """The id_token's `azp` names another client, as if that client had requested the id_token."""

    name = "wrong-azp"
    value: Value = "another-client"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return with_claims(token, azp=self.value)


class WrongNonce(IdTokenFault):
    """The id_token has the nonce of another login."""

    name = "wrong-nonce"
    on_menu = True
    value: Value = "another-nonce"

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        return with_claims(token, nonce=self.value) if "nonce" in token.claims else None


class NoNonce(IdTokenFault):
    """The id_token lacks the nonce of the request."""

    name = "no-nonce"

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        return without_claim(token, "nonce")


class Expired(IdTokenFault):
    """The id_token has already expired: all its times are in the past."""

    name = "expired"
    on_menu = True
    seconds: Seconds = 86400

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return moved(token, -self.seconds)


class FromTheFuture(IdTokenFault):
    """The id_token was issued in the future: all its times are later than the present time."""

    name = "issued-in-future"
    seconds: Seconds = 86400

    def id_token(self, token: Draft, at: Moment) -> Draft:
        return moved(token, self.seconds)


class WrongAtHash(IdTokenFault):
    """The id_token belongs to another access token: `at_hash` does not match."""

    name = "wrong-at-hash"

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        return with_claims(token, at_hash="AAAAAAAAAAAAAAAAAAAAAA") if "at_hash" in token.claims else None


class NoClaim(IdTokenFault):
    """The id_token lacks a required claim."""

    name = "no-claim"
    claim: Claim = "sub"

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        return without_claim(token, self.claim)


class SubjectNumber(IdTokenFault):
    """The id_token's `sub` is a number instead of a string."""

    name = "sub-number"

    def id_token(self, token: Draft, at: Moment) -> Draft:
        """Set `sub` to a number that is too large for a double."""
        return with_claims(token, sub=109_876_543_210_987_654)


def with_header(token: Draft, **members: Any) -> Draft:
    return token._replace(header={**token.header, **members})


def with_claims(token: Draft, **claims: Any) -> Draft:
    return token._replace(claims={**token.claims, **claims})


def without_claim(token: Draft, name: str) -> Draft | None:
    """Return a draft without a claim, or None if the draft does not have this claim."""
    if name not in token.claims:
        return None
    return token._replace(claims={key: value for key, value in token.claims.items() if key != name})


def moved(token: Draft, seconds: int) -> Draft:
    """Return a draft with all times moved by `seconds`."""
    times = {name: token.claims[name] + seconds for name in ("iat", "exp", "auth_time") if name in token.claims}
    return with_claims(token, **times)


def flipped(signature: bytes) -> bytes:
    """Return a signature with the bits of its first byte inverted."""
    return bytes([signature[0] ^ 0xFF]) + signature[1:]


def signed_by_stranger(token: Draft, at: Moment) -> Draft:
    """Return a draft with a signing key that is never published."""
    key = at.stranger()
    return token._replace(signature=lambda signed: rs256(key, signed))


def public_pem(key: PrivateKey) -> bytes:
    """Return the public half of a key as PEM. Anyone can derive it from the JWK set."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
