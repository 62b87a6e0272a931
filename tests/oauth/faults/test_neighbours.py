"""Tests that each fault affects only the flow for which it is armed, and only once."""

from __future__ import annotations

from typing import Any

import jwt
import msgspec
import pytest
from tests.oauth.faults.journey import Arm, Journey, travel
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.signing import half_hash
from chatkey_oauth.faults.catalogue import FAULTS
from chatkey_oauth.faults.rules import WITHOUT_FLOW

KEYS_ROTATED = "keys-rotated"
"""A fault that rotates the keys.

As at the real provider, rotated keys affect later logins too, so this fault has a separate test.
"""

OF_A_FLOW = [name for name, fault in FAULTS.items() if not WITHOUT_FLOW.issuperset(fault.legs) and name != KEYS_ROTATED]
CHANCE = {"access_token", "refresh_token", "id_token"}
OFFLINE = {"access_type": "offline", "prompt": "consent"}


def picture(journey: Journey, google: Visitor) -> dict[str, Any]:
    """Return all values that are equal in every Google login with the same parameters.

    A fault must change at least one value.
    """
    back, token = journey.callback, journey.tokens
    return {
        "answers": [
            (answer.status, answer.delay, answer.cut, len(answer.body) // 50_000) for answer in journey.answers
        ],
        "headers": [[pair for pair in answer.headers if pair[0] != "location"] for answer in journey.answers],
        "callback": (journey.location.partition("?")[0], {**back, "code": len(back["code"]), "state": True}),
        "state": back["state"] == journey.state,
        "token": {**token, **dict.fromkeys(CHANCE & token.keys(), True)},
        "duplicates": journey.answers[2].body.count(b'"access_token"'),
        "header": journey.header,
        "claims": {**journey.claims, "at_hash": journey.claims["at_hash"] == half_hash(token["access_token"])},
        "signature": verified(token["id_token"], google),
        "person": journey.person,
    }


def verified(id_token: str, google: Visitor) -> bool:
    """Return whether the newest published key verifies the signature."""
    keys = jwt.PyJWKSet.from_dict(msgspec.json.decode(google.get("/oauth2/v3/certs").body))
    try:
        jwt.PyJWS().decode(id_token, keys.keys[0], algorithms=["RS256"])
    except jwt.InvalidTokenError:
        return False
    return True


def differs(journey: Journey, google: Visitor, usual: dict[str, Any]) -> bool:
    """Return whether a login ended early, or differs from a login without a fault."""
    try:
        return picture(journey, google) != usual
    except (AssertionError, AttributeError, KeyError, msgspec.DecodeError, jwt.InvalidTokenError):
        return True


@pytest.mark.contract("D-14/faults")
@pytest.mark.parametrize("name", OF_A_FLOW)
def test_a_fault_acts_once_and_only_in_its_own_flow(google: Visitor, arm: Arm, name: str) -> None:
    usual = picture(travel(google, **OFFLINE), google)
    rule = arm(name)

    neighbour = travel(google, state="theirs-0123456789abcdef", **OFFLINE)
    hits_after_neighbour = rule.hits
    mine = travel(google, **OFFLINE)
    afterwards = travel(google, **OFFLINE)

    assert (hits_after_neighbour, rule.hits) == (0, 1)
    assert picture(neighbour, google) == usual
    assert differs(mine, google, usual)
    assert picture(afterwards, google) == usual
