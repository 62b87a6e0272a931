"""What is known about a request while the lab is on. Faults and the timeline use it."""

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

    `flow` is its login, one of `flows`. `request` is set once the authorization endpoint has read it, and
    `way_back`, the step of the callback, once the browser is redirected. `stranger` returns a key that the provider
    does not own.
    """

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
