"""Faults of what a provider publishes about itself: keys and discovery document. They belong to no flow."""

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
    """What all faults of the published keys have in common."""

    legs = (Leg.KEYS,)

    def keys(self, keys: list[dict[str, Any]], at: Moment) -> list[dict[str, Any]]:
        """Return the keys that are published instead of these, which are the newest first."""
        raise NotImplementedError

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Replace the keys of an answer that is a JWK set."""
        members = json_object(answer)
        if not isinstance(members.get("keys"), list):
            return None
        return replace(answer, body=msgspec.json.encode({"keys": self.keys(members["keys"], at)}))


class KeyMissing(KeysFault):
    """The key that signs is not among the published ones."""

    name = "key-missing"

    def keys(self, keys: list[dict[str, Any]], at: Moment) -> list[dict[str, Any]]:
        """Return all keys but the newest, which is the one that signs."""
        return keys[1:]


class OtherModulus(KeysFault):
    """A key is published under the `kid` that signs, and is another one."""

    name = "other-modulus"

    def keys(self, keys: list[dict[str, Any]], at: Moment) -> list[dict[str, Any]]:
        """Return the keys with a stranger's under the `kid` of the newest."""
        return [public_jwk(keys[0]["kid"], at.stranger()), *keys[1:]]


class OtherIssuer(Fault):
    """The discovery document is another issuer's."""

    name = "other-issuer"
    legs = (Leg.DISCOVERY,)
    issuer: Issuer = "https://issuer.invalid"

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Set `issuer` to another one, in a document that has it."""
        members = json_object(answer)
        if "issuer" not in members:
            return None
        return replace(answer, body=msgspec.json.encode(members | {"issuer": self.issuer}))
