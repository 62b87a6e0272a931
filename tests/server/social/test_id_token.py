"""Tests of the id_token. The server must accept a valid one and refuse each fault (OpenID Connect Core 3.1.3.7)."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping

import pytest
from joserfc import jws
from joserfc.jwk import KeySet, RSAKey

from chatkey_server.identity import encoding
from chatkey_server.social import id_token
from chatkey_server.social.person import Unusable

NOW = 1_795_000_000
ISSUERS = ("https://accounts.google.com", "accounts.google.com")
EXPECTED = id_token.Expected(ISSUERS, "client-1", "nonce-of-this-login", "ya29.a0")
AT_HASH = "jPKNsPz2RSA_lZ_mk3n6Jw"

MakeIdToken = Callable[..., str]


@pytest.fixture
def keys(key_set: Mapping[str, object]) -> KeySet:
    return id_token.read_keys(key_set)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"iss": "accounts.google.com"},
        {"aud": ["client-1"]},
        {"aud": ["client-1", "other"], "azp": "client-1"},
        {"azp": "client-1"},
        {"exp": NOW - 59},
        {"iat": NOW + 60},
        {"iat": NOW - 660},
        {"exp": NOW + 119.5},
        {"email": "rhea@example.com", "unknown": {"a": [1]}},
    ],
)
def test_a_valid_id_token_returns_its_subject(
    make_id_token: MakeIdToken, keys: KeySet, changes: dict[str, object]
) -> None:
    token = make_id_token(ISSUERS[0], "1076", **changes)

    assert id_token.verify(token, keys, EXPECTED, now=NOW).sub == "1076"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"iss": "https://evil.example"}, "iss is not the provider"),
        ({"iss": None}, "iss is missing"),
        ({"aud": "other"}, "aud is another application"),
        ({"aud": ["other"]}, "aud is another application"),
        ({"aud": []}, "aud is another application"),
        ({"aud": None}, "aud is missing"),
        ({"aud": ["client-1", "other"]}, "azp is another application"),
        ({"azp": "other"}, "azp is another application"),
        ({"exp": NOW - 60}, "exp has passed"),
        ({"exp": str(NOW + 60)}, "exp is invalid"),
        ({"exp": None}, "exp is missing"),
        ({"iat": NOW - 661}, "iat does not fit the time of this login"),
        ({"iat": NOW + 61}, "iat does not fit the time of this login"),
        ({"iat": None}, "iat is missing"),
        ({"nonce": "another-login"}, "nonce is not the one of this login"),
        ({"nonce": None}, "nonce is not the one of this login"),
        ({"at_hash": AT_HASH[:-1] + "x"}, "at_hash belongs to another access token"),
        ({"sub": 1076}, "sub is invalid"),
        ({"sub": None}, "sub is missing"),
    ],
)
def test_an_id_token_with_one_wrong_claim_is_refused(
    make_id_token: MakeIdToken, keys: KeySet, changes: dict[str, object], why: str
) -> None:
    token = make_id_token(ISSUERS[0], **({"sub": "1076"} | changes))

    with pytest.raises(Unusable, match=f"^the id_token's {why}"):
        id_token.verify(token, keys, EXPECTED, now=NOW)


def test_the_at_hash_of_the_access_token_is_accepted(make_id_token: MakeIdToken, keys: KeySet) -> None:
    """The access token and the hash are the example of OpenID Connect Core A.4."""
    expected = id_token.Expected(
        ISSUERS, "client-1", "nonce-of-this-login", "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    )
    token = make_id_token(ISSUERS[0], "1076", at_hash="77QmUPtjPfzWtF2AnpK9RQ")

    assert id_token.verify(token, keys, expected, now=NOW).at_hash == "77QmUPtjPfzWtF2AnpK9RQ"


@pytest.mark.parametrize(("kid", "is_ours"), [("key-1", False), ("key-2", True)], ids=["other-key", "other-name"])
def test_an_unpublished_kid_raises_its_own_error(
    make_id_token: MakeIdToken, signing_key: RSAKey, keys: KeySet, kid: str, is_ours: bool
) -> None:
    token = make_id_token(ISSUERS[0], "1076", key=signing_key if is_ours else RSAKey.generate_key(2048), kid=kid)

    with pytest.raises(id_token.UnknownKey):
        id_token.verify(token, keys, EXPECTED, now=NOW)


@pytest.mark.parametrize("alg", ["none", "HS256"])
def test_an_algorithm_the_provider_does_not_use_is_refused(make_id_token: MakeIdToken, keys: KeySet, alg: str) -> None:
    _, payload, _ = make_id_token(ISSUERS[0], "1076").split(".")
    signed = f"{encoding.encode(json.dumps({'alg': alg, 'kid': 'key-1'}).encode())}.{payload}"
    mac = b"" if alg == "none" else hmac.digest(b"application-secret", signed.encode(), "sha256")

    with pytest.raises(Unusable, match="signature is invalid"):
        id_token.verify(f"{signed}.{encoding.encode(mac)}", keys, EXPECTED, now=NOW)


@pytest.mark.parametrize(
    "text", ["", "a", "a.b.c", "....", "e30.e30.", "eyJhbGciOltdfQ.e30.AA", "é.é.é", "x" * 200_000]
)
def test_text_that_is_no_jwt_is_refused(keys: KeySet, text: str) -> None:
    with pytest.raises(Unusable, match="the id_token's signature is invalid"):
        id_token.verify(text, keys, EXPECTED, now=NOW)


@pytest.mark.parametrize("payload", [b"[]", b"x", b"\xff", b"[" * 2000])
def test_a_signed_payload_that_is_no_claims_set_is_refused(signing_key: RSAKey, keys: KeySet, payload: bytes) -> None:
    token = jws.serialize_compact({"alg": "RS256", "kid": "key-1"}, payload, signing_key)

    with pytest.raises(Unusable, match="the id_token's"):
        id_token.verify(token, keys, EXPECTED, now=NOW)


@pytest.mark.parametrize(
    "document", [{}, {"keys": None}, {"keys": []}, {"keys": [1]}, {"keys": [{"kty": "RSA"}]}, {"keys": {}}]
)
def test_a_document_that_is_no_key_set_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(Unusable, match="not a JWK set"):
        id_token.read_keys(document)


def test_keys_of_an_unknown_type_are_ignored(key_set: Mapping[str, object], make_id_token: MakeIdToken) -> None:
    published = key_set["keys"]
    assert isinstance(published, list)
    keys = id_token.read_keys({"keys": [{"kty": "LATTICE", "kid": "key-1"}, *published]})

    assert id_token.verify(make_id_token(ISSUERS[0], "1076"), keys, EXPECTED, now=NOW).sub == "1076"
