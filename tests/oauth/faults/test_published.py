"""Tests of faults of published keys and discovery documents. Such a fault is armed for a provider, not for a flow."""

from __future__ import annotations

from typing import Any

import jwt
import pytest
from tests.oauth.faults.journey import Arm, Journey, travel
from tests.oauth.visitor import Visitor, content

from chatkey_oauth.faults.rules import Scope

DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/oauth2/v3/certs"
GOOGLE = Scope(provider="google")


@pytest.mark.parametrize("fault", ["key-missing", "other-modulus"])
def test_wrong_published_keys_make_a_good_id_token_unverifiable_once(
    *, google: Visitor, gitlab: Visitor, arm: Arm, fault: str
) -> None:
    rule = arm(fault, scope=GOOGLE)
    journey = travel(google)
    elsewhere = content(gitlab.get("/oauth/discovery/keys"))

    bent, straight = content(google.get(KEYS)), content(google.get(KEYS))

    assert len(elsewhere["keys"]) >= 1
    assert rule.hits == 1
    assert not verified(journey, bent)
    assert verified(journey, straight)


def verified(journey: Journey, keys: dict[str, Any]) -> bool:
    """Return whether one of the keys has the id_token's kid and verifies the id_token's signature."""
    key = next((key for key in keys["keys"] if key["kid"] == journey.header["kid"]), None)
    try:
        return key is not None and bool(jwt.PyJWS().decode(journey.tokens["id_token"], jwt.PyJWK.from_dict(key)))
    except jwt.InvalidSignatureError:
        return False


def test_another_modulus_has_the_same_kid(google: Visitor, arm: Arm) -> None:
    straight = content(google.get(KEYS))["keys"]
    arm("other-modulus", scope=GOOGLE)

    bent = content(google.get(KEYS))["keys"]

    assert [key["kid"] for key in bent] == [key["kid"] for key in straight]
    assert bent[0]["n"] != straight[0]["n"]


def test_a_missing_key_leaves_the_older_ones(google: Visitor, arm: Arm) -> None:
    straight = content(google.get(KEYS))["keys"]
    arm("key-missing", scope=GOOGLE)

    assert content(google.get(KEYS))["keys"] == straight[1:]


def test_a_fault_of_the_key_set_does_not_change_the_certificates(google: Visitor, arm: Arm) -> None:
    rule = arm("key-missing", scope=GOOGLE)

    assert b"BEGIN CERTIFICATE" in google.get("/oauth2/v1/certs").body
    assert rule.hits == 0


def test_the_discovery_document_can_name_another_issuer(google: Visitor, arm: Arm) -> None:
    arm("other-issuer", scope=GOOGLE)

    bent, straight = content(google.get(DISCOVERY)), content(google.get(DISCOVERY))

    assert bent == straight | {"issuer": "https://issuer.invalid"}


@pytest.mark.parametrize(("leg", "path"), [("keys", KEYS), ("discovery", DISCOVERY)])
def test_published_documents_can_fail(google: Visitor, arm: Arm, leg: str, path: str) -> None:
    arm("status-500", scope=GOOGLE, leg=leg)

    assert [google.get(path).status for _ in range(2)] == [500, 200]
