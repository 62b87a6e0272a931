"""Tests that verify id_tokens with two independent libraries and compare the claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jwt
import pytest
from joserfc import jwt as joserfc_jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet
from jwt.exceptions import InvalidSignatureError
from tests.oauth.visitor import Visitor, claims_of, content

from chatkey_oauth.engine.signing import KEYS, KeyRing, half_hash, make_key
from chatkey_oauth.providers.microsoft import CONSUMERS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

KEY_PATHS = {
    "google": "/oauth2/v3/certs",
    "facebook": "/.well-known/oauth/openid/jwks/",
    "gitlab": "/oauth/discovery/keys",
    "discord": "/api/oauth2/keys",
    "microsoft": "/common/discovery/v2.0/keys",
    "linkedin": "/oauth/openid/jwks",
    "oidc": "/jwks",
}
UNBOUND = {"microsoft": "at_hash", "linkedin": "nonce"}
"""The claim that is missing from a provider's id_token."""
ISSUERS = {"microsoft": f"/{CONSUMERS}/v2.0", "linkedin": "/oauth"}
SIGNING = pytest.mark.parametrize("name", KEY_PATHS)


def id_token(visitor: Visitor, person: str = "rhea", **changes: str) -> dict[str, Any]:
    """Log in with a request for an id_token, and return the token response."""
    return visitor.login(person, **{"scope": "openid email profile", "nonce": "n-1"} | changes)


@SIGNING
def test_joserfc_verifies_the_id_token_by_the_published_keys(visitor: Visitor, name: str) -> None:
    token = id_token(visitor)
    keys = KeySet.import_key_set(content(visitor.get(KEY_PATHS[name])))

    verified = joserfc_jwt.decode(token["id_token"], keys, algorithms=["RS256"])

    assert verified.header["kid"] == keys.keys[0].kid
    bound = {"nonce": "n-1", "at_hash": half_hash(token["access_token"])}
    bound.pop(UNBOUND.get(name, ""), None)
    assert {claim: verified.claims[claim] for claim in ("nonce", "at_hash") if claim in verified.claims} == bound


@SIGNING
def test_pyjwt_verifies_issuer_audience_and_times(visitor: Visitor, name: str) -> None:
    key = jwt.PyJWKSet.from_dict(content(visitor.get(KEY_PATHS[name]))).keys[0]

    claims = jwt.decode(
        id_token(visitor)["id_token"],
        key,
        algorithms=["RS256"],
        audience="ours",
        issuer=f"https://id.localhost/{name}{ISSUERS.get(name, '')}",
        options={"require": ["exp", "iat", "sub"], "verify_exp": False, "verify_iat": False},
    )

    assert claims["iat"] == visitor.clock()
    assert claims["exp"] - claims["iat"] == (120 if name == "gitlab" else 3600)
    assert isinstance(claims["sub"], str)


@SIGNING
def test_the_subject_is_the_one_of_the_profile(visitor: Visitor) -> None:
    token = id_token(visitor, scope=f"{visitor.site.scope} openid")

    claims = claims_of(token["id_token"])
    profile = content(visitor.profile(token["access_token"]))

    assert claims["sub"] == str(profile.get("sub", profile.get("id")))


@SIGNING
def test_a_changed_id_token_does_not_verify(visitor: Visitor, name: str) -> None:
    header, payload, signature = id_token(visitor)["id_token"].split(".")
    keys = content(visitor.get(KEY_PATHS[name]))
    changed = f"{header}.{payload}.{signature[:-4]}AAAA"

    with pytest.raises(BadSignatureError):
        joserfc_jwt.decode(changed, KeySet.import_key_set(keys), algorithms=["RS256"])
    with pytest.raises(InvalidSignatureError):
        jwt.decode(changed, jwt.PyJWKSet.from_dict(keys).keys[0], algorithms=["RS256"], audience="ours")


@pytest.mark.parametrize("name", ["google", "gitlab", "discord"])
def test_a_refreshed_id_token_has_no_nonce(visitor: Visitor) -> None:
    first = id_token(visitor, access_type="offline")

    second = content(
        visitor.refresh(
            first["refresh_token"],
            redirect_uri=None,
            code_verifier=None,
        )
    )

    old, new = (claims_of(token["id_token"]) for token in (first, second))
    assert old["nonce"] == "n-1"
    assert "nonce" not in new
    assert new["sub"] == old["sub"]


def test_no_nonce_is_invented(google: Visitor) -> None:
    claims = claims_of(google.login()["id_token"])

    assert "nonce" not in claims


def test_a_nonce_that_is_no_text_does_no_harm(google: Visitor) -> None:
    claims = claims_of(id_token(google, nonce="\udcff")["id_token"])

    assert claims["nonce"] == "\N{REPLACEMENT CHARACTER}"


def test_google_says_what_the_scopes_open(google: Visitor) -> None:
    claims = claims_of(id_token(google, "noname")["id_token"])

    assert claims["azp"] == claims["aud"] == "ours"
    assert (claims["email"], claims["email_verified"]) == ("noname@example.com", True)
    assert not {"name", "given_name", "family_name", "picture", "hd"} & set(claims)


def test_discords_audience_is_a_list(discord: Visitor) -> None:
    claims = claims_of(id_token(discord)["id_token"])

    assert claims["aud"] == ["ours"]


def test_gitlab_has_a_second_older_subject(gitlab: Visitor) -> None:
    claims = claims_of(id_token(gitlab)["id_token"])

    assert len(claims["sub_legacy"]) == 64
    assert claims["groups_direct"] == []


def test_a_new_key_signs_and_the_former_ones_stay_published_for_a_while(signing_key: RSAPrivateKey) -> None:
    spare = [signing_key, *(make_key() for _ in range(KEYS))]
    ring = KeyRing(lambda: spare.pop(0))
    old_token, old_keys = ring.sign({"sub": "1"}), ring.jwks()

    kid = ring.rotate()

    keys = ring.jwks()["keys"]
    assert [key["kid"] for key in keys] == [kid, old_keys["keys"][0]["kid"]]
    assert joserfc_jwt.decode(old_token, KeySet.import_key_set({"keys": keys}), algorithms=["RS256"])  # type: ignore[typeddict-item]
    for _ in range(KEYS - 1):
        ring.rotate()
    assert len(ring.jwks()["keys"]) == KEYS
    assert old_keys["keys"][0] not in ring.jwks()["keys"]


@SIGNING
def test_no_private_half_is_published(visitor: Visitor, name: str) -> None:
    keys = content(visitor.get(KEY_PATHS[name]))["keys"]

    assert keys
    for key in keys:
        public = {"n", "e"} if key["kty"] == "RSA" else {"crv", "x", "y"}
        assert set(key) == {"kty", "use", "alg", "kid"} | public
