"""The facts about a request. The faults and the timeline of the lab use these facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.flows import Flow, Flows, Leg, Step
    from chatkey_oauth.engine.requests import AuthorizationRequest


class Moment(msgspec.Struct):
    """One request that is being answered.

    `flow` is the login to which the request belongs, and `flows` are all logins. `request` is set after the
    authorization endpoint has parsed the request. `way_back` is the timeline's step for the callback, and is set when
    the browser is redirected. `stranger` returns a key that does not belong to the provider.
    """

    provider: Dialect
    leg: Leg
    call: Call
    at: float
    flow: Flow | None
    flows: Flows
    stranger: Callable[[], RSAPrivateKey]
    client_id: str | None
    request: AuthorizationRequest | None = None
    way_back: Step | None = None
