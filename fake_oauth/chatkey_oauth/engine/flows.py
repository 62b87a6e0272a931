"""One authorization attempt from the authorization endpoint to the profile, and the timeline that tells of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Literal

import msgspec

from chatkey_oauth.engine.grants import Ring

FLOWS: Final = 1000
"""How many flows are remembered; the oldest is forgotten for the next."""

STEPS: Final = 50
"""How many steps of one flow are written down; a client that refreshes for ever fills no memory."""

COOKIE: Final = "chatkey_flow"
"""The cookie by which a browser context marks its flows; whoever drives the browser sets it."""

Mark = Literal["good", "absent", "wrong", "odd"]


class Leg(StrEnum):
    """The parts of a login as a provider sees them. `CODE` is the way back to the client, with a code or an error."""

    DISCOVERY = "discovery"
    KEYS = "keys"
    AUTHORIZE = "authorize"
    CONSENT = "consent"
    CODE = "code"
    TOKEN = "token"  # noqa: S105 - the name of an endpoint
    PROFILE = "profile"
    REVOKE = "revoke"


class Verdict(msgspec.Struct, frozen=True):
    """What is to be said of one protection: a mark, and why in words."""

    mark: Mark
    words: str


class Step(msgspec.Struct, kw_only=True):
    """One leg of a flow as it happened. `at` is in seconds; `faults` are those that bent it.

    Verdicts have the keys `pkce`, `state`, `nonce`, `client` and `redirect_uri`. No member holds a secret, a code, a
    token or the value of `state`.
    """

    leg: Leg
    at: float
    method: str
    path: str
    status: int
    verdicts: dict[str, Verdict] = {}
    faults: list[str] = []
    note: str = ""


class Flow(msgspec.Struct, kw_only=True):
    """One authorization attempt. `state` is kept to find the flow by; what is shown of it is its fingerprint."""

    id: str
    provider: str
    client_id: str
    began_at: float
    state: str | None = None
    login_hint: str | None = None
    cookie: str | None = None
    account: str | None = None
    steps: list[Step] = []

    def __repr__(self) -> str:
        return f"<Flow {self.id} of {self.client_id} at {self.provider}, {len(self.steps)} steps>"

    def add(self, step: Step) -> None:
        """Write a step down, while there is room."""
        if len(self.steps) < STEPS:
            self.steps.append(step)


class Flows:
    """The newest flows, by id."""

    def __init__(self, clock: Callable[[], float], random: Callable[[int], bytes], size: int = FLOWS) -> None:
        self._clock = clock
        self._random = random
        self._flows: Ring[Flow] = Ring(size)

    def begin(
        self,
        provider: str,
        client_id: str,
        *,
        state: str | None = None,
        login_hint: str | None = None,
        cookie: str | None = None,
    ) -> Flow:
        """Remember a new flow."""
        flow = Flow(
            id=f"f_{self._random(8).hex()}",
            provider=provider,
            client_id=client_id,
            began_at=self._clock(),
            state=state,
            login_hint=login_hint,
            cookie=cookie,
        )
        self._flows.put(flow.id, flow)
        return flow

    def get(self, flow_id: str) -> Flow | None:
        """Find a flow that is still remembered."""
        return self._flows.get(flow_id)

    def all(self) -> list[Flow]:
        """Every remembered flow, the newest first."""
        return self._flows.newest_first()

    def clear(self) -> None:
        """Forget everything."""
        self._flows.clear()
