"""Tests of the id_token at its edges: times, and texts that are no token. `tests/refusals/oauth` tests its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from joserfc import jws
from joserfc.jwk import KeySet, RSAKey

from chatkey_server.social import id_token
from chatkey_server.social.person import Unusable

NOW = 1_795_000_000
ISSUERS = ("https://accounts.google.com", "accounts.google.com")
EXPECTED = id_token.Expected(ISSUERS, "client-1", "nonce-of-this-login", "ya29.a0")

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
        ({"aud": ["other"]}, "aud is another application"),
        ({"aud": []}, "aud is another application"),
        ({"exp": NOW - 60}, "exp has passed"),
        ({"exp": str(NOW + 60)}, "exp is invalid"),
        ({"iat": NOW - 661}, "iat does not fit the time of this login"),
        ({"iat": NOW + 61}, "iat does not fit the time of this login"),
    ],
)
def test_an_id_token_beyond_an_edge_is_refused(
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
