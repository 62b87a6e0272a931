"""One login attempt, from the authorization endpoint to the profile, and the timeline of this attempt."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Literal

import msgspec

from chatkey_oauth.engine.grants import Ring

FLOWS: Final = 1000
"""The maximum number of stored flows. A new flow then replaces the oldest flow."""

STEPS: Final = 50
"""The maximum number of recorded steps of a flow. Otherwise, a client that refreshes forever would fill the memory."""

COOKIE: Final = "chatkey_flow"
"""The cookie that marks the flows of one browser context. Tests set this cookie."""

Mark = Literal["good", "absent", "wrong", "odd"]


class Leg(StrEnum):
    """The steps of a login as a provider sees them. `CODE` is the redirect to the client with a code or an error."""

    DISCOVERY = "discovery"
    KEYS = "keys"
    AUTHORIZE = "authorize"
    CONSENT = "consent"
    CODE = "code"
    TOKEN = "token"  # noqa: S105 - the name of an endpoint
    PROFILE = "profile"
    REVOKE = "revoke"


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The result of checking one protection: a mark, and the reason in words."""

    mark: Mark
    words: str


class Step(msgspec.Struct, kw_only=True, gc=False):
    """One recorded step of a flow. `at` is in seconds. `faults` names the faults that acted on this step.

    The keys of the verdicts are `pkce`, `state`, `nonce`, `client` and `redirect_uri`. No field contains a secret, a
    code, a token or the value of `state`.
    """

    leg: Leg
    at: float
    method: str
    path: str
    status: int
    verdicts: dict[str, Verdict] = {}
    faults: list[str] = []
    note: str = ""


class Flow(msgspec.Struct, kw_only=True, gc=False):
    """One login attempt. The lab finds flows by `state`, but shows only a fingerprint of `state`."""

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
        """Record a step, unless the flow already has `STEPS` steps."""
        if len(self.steps) < STEPS:
            self.steps.append(step)


class Flows:
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
        """Return a flow, or None if it is not stored."""
        return self._flows.get(flow_id)

    def all(self) -> list[Flow]:
        """Return all stored flows, newest first."""
        return self._flows.newest_first()

    def clear(self) -> None:
        self._flows.clear()
