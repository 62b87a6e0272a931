"""The facts about a request. The faults and the timeline of the lab use these facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.flows import Flow, Flows, Leg, Step
    from chatkey_oauth.engine.requests import AuthorizationRequest


class Moment:
    """One request that is being answered.

    `flow` is the login to which the request belongs, and `flows` are all logins. `request` is set after the
    authorization endpoint has parsed the request. `way_back` is the timeline's step for the callback, and is set when
    the browser is redirected. `stranger` returns a key that does not belong to the provider.
    """

    __slots__ = ("at", "call", "client_id", "flow", "flows", "leg", "provider", "request", "stranger", "way_back")

    def __init__(
        self,
        provider: Dialect,
        leg: Leg,
        call: Call,
        *,
        flow: Flow | None,
        flows: Flows,
        stranger: Callable[[], RSAPrivateKey],
        client_id: str | None = None,
    ) -> None:
        self.provider = provider
        self.leg = leg
        self.call = call
        self.flow = flow
        self.flows = flows
        self.stranger = stranger
        self.client_id = client_id
        self.at = provider.world.clock()
        self.request: AuthorizationRequest | None = None
        self.way_back: Step | None = None
