"""Verifies the id_token of a social provider (OpenID Connect Core 3.1.3.7)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import msgspec
from joserfc import jws
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from chatkey_server.identity import claims, encoding
from chatkey_server.social.id_token_claims import Claims
from chatkey_server.social.person import Unusable

if TYPE_CHECKING:
    from chatkey_server.social.provider import Json

ALGORITHMS: Final = ("RS256",)
LEEWAY_SECONDS: Final = 60
OLDEST_SECONDS: Final = 600
"""The greatest age of an id_token that was just fetched."""

_UNREADABLE = (JoseError, ValueError, TypeError, KeyError, AttributeError)  # joserfc raises these for bad input


class UnknownKey(Exception):
    """The id_token is signed with a key that is not in the key set. The provider may have changed its keys."""


_CLAIMS: Final = msgspec.json.Decoder(Claims)


class Expected(msgspec.Struct, frozen=True):
    """The values that the id_token of this login must contain."""

    issuers: tuple[str, ...]
    client_id: str
    nonce: str
    access_token: str


def read_keys(document: Json) -> KeySet:
    """Read a provider's JWK set. Raises `Unusable`."""
    try:
        return KeySet.import_key_set({"keys": document["keys"]})  # type: ignore[typeddict-item]
    except _UNREADABLE:
        raise Unusable("its signing keys are not a JWK set") from None


def verify(token: str, keys: KeySet, expected: Expected, *, now: float) -> Claims:
    """Verify an id_token and return its claims. Raises `Unusable`, which says what is wrong, or `UnknownKey`."""
    given = _read(token, keys)
    if wrong := _first_wrong(given, expected, now):
        raise Unusable(f"the id_token's {wrong}")
    return given


def _read(token: str, keys: KeySet) -> Claims:
    try:
        signed = jws.deserialize_compact(token, keys, algorithms=[*ALGORITHMS])
    except (InvalidKeyIdError, BadSignatureError):
        raise UnknownKey from None
    except _UNREADABLE as error:
        reason = error.error if isinstance(error, JoseError) else "malformed"
        raise Unusable(f"the id_token's signature is invalid ({reason})") from None
    try:
        return claims.read(_CLAIMS, signed.payload or b"")
    except claims.WrongClaim as wrong:
        raise Unusable(f"the id_token's {wrong}") from None


def _first_wrong(given: Claims, expected: Expected, now: float) -> str | None:
    parties = {None, expected.client_id} if len(given.audience) == 1 else {expected.client_id}
    issued = now - OLDEST_SECONDS - LEEWAY_SECONDS, now + LEEWAY_SECONDS
    holds = {
        "iss is not the provider": given.iss in expected.issuers,
        "aud is another application": expected.client_id in given.audience,
        "azp is another application": given.azp in parties,
        "exp has passed": given.exp > now - LEEWAY_SECONDS,
        "iat does not fit the time of this login": issued[0] <= given.iat <= issued[1],
        "nonce is not the one of this login": given.nonce == expected.nonce,
        "at_hash belongs to another access token": given.at_hash in {None, _at_hash(expected.access_token)},
    }
    return next((wrong for wrong, right in holds.items() if not right), None)


def _at_hash(access_token: str) -> str:
    """Return the left half of the SHA-256 of an access token (OpenID Connect Core 3.1.3.6)."""
    return encoding.encode(hashlib.sha256(access_token.encode()).digest()[:16])
