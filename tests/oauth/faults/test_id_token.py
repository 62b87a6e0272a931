"""Tests of the errors that PyJWT reports for faults of the id_token."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from tests.oauth.faults.journey import Arm, Journey, travel
from tests.oauth.visitor import NOW, Visitor, content

from chatkey_oauth.engine.text import base64url
from chatkey_oauth.faults.id_token import public_pem

KEYS = "/oauth2/v3/certs"


def verify(journey: Journey, keys: dict[str, Any], *, now: float = NOW) -> dict[str, Any]:
    """Verify an id_token as a careful client does.

    The client checks the key with this kid, the issuer, the audience and the times.
    """
    claims = jwt.decode(
        journey.tokens["id_token"],
        jwt.PyJWKSet.from_dict(keys)[journey.header["kid"]],
        algorithms=["RS256"],
        audience="ours",
        issuer="https://id.localhost/google",
        options={"verify_exp": False, "verify_iat": False, "require": ["sub", "exp", "iat"]},
    )
    if claims["exp"] < now:
        raise jwt.ExpiredSignatureError
    if claims["iat"] > now:
        raise jwt.ImmatureSignatureError
    return dict(claims)


@pytest.mark.parametrize(
    ("fault", "options", "wrong"),
    [
        ("bad-signature", {}, jwt.InvalidSignatureError),
        ("foreign-key", {}, jwt.InvalidSignatureError),
        ("embedded-key", {}, jwt.InvalidSignatureError),
        ("unknown-kid", {}, KeyError),
        ("no-kid", {}, KeyError),
        ("alg-none", {}, jwt.InvalidAlgorithmError),
        ("alg-hs256", {}, jwt.InvalidAlgorithmError),
        ("unknown-crit", {}, jwt.InvalidTokenError),
        ("wrong-iss", {}, jwt.InvalidIssuerError),
        ("wrong-iss", {"value": "https://id.localhost/google/"}, jwt.InvalidIssuerError),
        ("wrong-aud", {}, jwt.InvalidAudienceError),
        ("expired", {}, jwt.ExpiredSignatureError),
        ("issued-in-future", {}, jwt.ImmatureSignatureError),
        ("no-claim", {}, jwt.MissingRequiredClaimError),
        ("no-claim", {"claim": "exp"}, jwt.MissingRequiredClaimError),
        ("sub-number", {}, jwt.exceptions.InvalidSubjectError),
    ],
)
def test_a_correct_client_refuses_the_faulty_id_token(
    *, google: Visitor, arm: Arm, fault: str, options: dict[str, Any], wrong: type[Exception]
) -> None:
    arm(fault, **options)
    bent, straight = travel(google), travel(google)
    keys = content(google.get(KEYS))

    with pytest.raises(wrong):
        verify(bent, keys)
    assert verify(straight, keys)["sub"]


@pytest.mark.parametrize(
    ("fault", "options", "claims"),
    [
        ("wrong-nonce", {}, {"nonce": "another-nonce"}),
        ("no-nonce", {}, {"nonce": None}),
        ("second-aud", {}, {"aud": ["ours", "another-client"], "azp": None}),
        ("wrong-azp", {}, {"azp": "another-client"}),
        ("wrong-at-hash", {}, {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}),
    ],
)
def test_claims_are_changed_under_a_valid_signature(
    *, google: Visitor, arm: Arm, fault: str, options: dict[str, Any], claims: dict[str, Any]
) -> None:
    arm(fault, **options)
    bent, straight = travel(google), travel(google)
    keys = content(google.get(KEYS))

    verified = verify(bent, keys)

    assert {name: verified.get(name) for name in claims} == claims
    changed = {
        name for name in verified.keys() | straight.claims.keys() if verified.get(name) != straight.claims.get(name)
    }
    assert changed - {"at_hash"} == claims.keys() - {"at_hash"}


def test_a_broken_signature_is_as_long_as_a_good_one(google: Visitor, arm: Arm) -> None:
    arm("bad-signature")

    bent, straight = travel(google), travel(google)

    assert len(bent.tokens["id_token"].rpartition(".")[2]) == len(straight.tokens["id_token"].rpartition(".")[2])
    assert bent.header == straight.header


def test_an_unsigned_token_ends_with_a_dot(google: Visitor, arm: Arm) -> None:
    arm("alg-none")

    journey = travel(google)

    assert journey.tokens["id_token"].endswith(".")
    assert journey.header["alg"] == "none"


def test_alg_hs256_signs_with_the_public_key_as_secret(google: Visitor, arm: Arm) -> None:
    arm("alg-hs256")

    signed, _, signature = travel(google).tokens["id_token"].rpartition(".")

    secret = public_pem(google.fake.provider("google").keys.keys[0][1])
    assert base64url(hmac.new(secret, signed.encode(), hashlib.sha256).digest()) == signature


def test_an_embedded_key_verifies_its_own_token(google: Visitor, arm: Arm) -> None:
    arm("embedded-key")

    journey = travel(google)

    assert jwt.PyJWS().decode(journey.tokens["id_token"], jwt.PyJWK.from_dict(journey.header["jwk"]), ["RS256"])
    assert set(journey.header["jwk"]) == {"kty", "use", "alg", "kid", "n", "e"}
    assert journey.header["jwk"]["n"] not in str(content(google.get(KEYS)))


def test_the_times_of_an_expired_token_are_consistent(google: Visitor, arm: Arm) -> None:
    arm("expired", seconds=7200)

    claims = travel(google).claims

    assert (claims["iat"], claims["exp"]) == (NOW - 7200, NOW - 3600)


@pytest.mark.parametrize("name", ["google", "gitlab", "discord"])
def test_keys_rotate_during_a_login_and_both_stay_published(
    *, visit: Callable[[str], Visitor], arm: Arm, name: str
) -> None:
    paths = {"google": KEYS, "gitlab": "/oauth/discovery/keys", "discord": "/api/oauth2/keys"}
    visitor = visit(name)
    rule = arm("keys-rotated")
    before = [key["kid"] for key in content(visitor.get(paths[name]))["keys"]]
    neighbour = travel(visitor, state="theirs-0123456789abcdef")

    journey = travel(visitor)

    keys = content(visitor.get(paths[name]))
    kids = [key["kid"] for key in keys["keys"]]
    assert rule.hits == 1
    assert neighbour.header["kid"] == before[0]
    assert journey.header["kid"] == kids[0] != before[0]
    assert before[0] in kids
    for login in (neighbour, journey):
        key = jwt.PyJWKSet.from_dict(keys)[login.header["kid"]]
        assert jwt.PyJWS().decode(login.tokens["id_token"], key, ["RS256"])
    assert not {"d", "p", "q"} & {member for key in keys["keys"] for member in key}
