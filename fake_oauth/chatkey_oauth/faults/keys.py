"""Faults of the published keys and of the discovery document. These faults belong to a provider, not to a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.signing import public_jwk
from chatkey_oauth.faults.bodies import json_object
from chatkey_oauth.faults.fault import Fault

if TYPE_CHECKING:
    from typing import Any

    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.faults.moment import Moment

Issuer = Annotated[str, msgspec.Meta(pattern=r"^[\x21-\x7e]{1,300}(?!\n)$", description="The value of `issuer`.")]


class KeysFault(Fault):
    legs = (Leg.KEYS,)

    def keys(self, keys: list[dict[str, Any]], at: Moment) -> list[dict[str, Any]]:
        """Return the keys to publish instead of these keys, which are newest first."""
        raise NotImplementedError

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Replace the keys in a JWK set response. Other responses do not change."""
        members = json_object(answer)
        if not isinstance(members.get("keys"), list):
            return None
        return replace(answer, body=msgspec.json.encode({"keys": self.keys(members["keys"], at)}))


class KeyMissing(KeysFault):
    """The current signing key is missing from the published keys."""

    name = "key-missing"

    def keys(self, keys: list[dict[str, Any]], at: Moment) -> list[dict[str, Any]]:
        return keys[1:]


class OtherModulus(KeysFault):
    """Another key is published under the `kid` of the signing key."""

    name = "other-modulus"

    def keys(self, keys: list[dict[str, Any]], at: Moment) -> list[dict[str, Any]]:
        return [public_jwk(keys[0]["kid"], at.stranger()), *keys[1:]]


class OtherIssuer(Fault):
    """The discovery document names another issuer."""

    name = "other-issuer"
    legs = (Leg.DISCOVERY,)
    issuer: Issuer = "https://issuer.invalid"

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        members = json_object(answer)
        if "issuer" not in members:
            return None
        return replace(answer, body=msgspec.json.encode(members | {"issuer": self.issuer}))
