"""Observes every request while the lab is on.

Finds the request's flow and step, applies faults, and records the result.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.credentials import basic_pairs
from chatkey_oauth.engine.flows import COOKIE, Flow, Flows, Leg
from chatkey_oauth.engine.hooks import UNTOUCHED
from chatkey_oauth.engine.refusals import Refusal
from chatkey_oauth.engine.text import clean
from chatkey_oauth.faults import menu, verdicts
from chatkey_oauth.faults.misbehaviour import APPROVED, DECLINED, Misbehaviour
from chatkey_oauth.faults.moment import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.engine.call import Call, Handler
    from chatkey_oauth.engine.grants import Grant
    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.engine.provider import Provider
    from chatkey_oauth.engine.routing import Route
    from chatkey_oauth.faults.rules import Faults

PAGES: Final = (Leg.AUTHORIZE, Leg.CONSENT)
"""The steps with an authorization request. Their endpoints call the hook `instead` after parsing the request."""

NOTE: Final = 60
"""The maximum number of characters of a grant type in a note."""

LONGEST_ID: Final = 255
"""The maximum number of characters of an unknown client's id in a record."""

STAND_FOR_GRANTS: Final = ("refresh_token", "token", "access_token", "input_token", "fb_exchange_token")
"""Parameters that carry a token."""


class Watch:
    """Lets the armed faults act on every request, and records the requests in flows.

    `make_key` makes the key that is never published. The key is made once.
    """

    def __init__(self, flows: Flows, faults: Faults, make_key: Callable[[], RSAPrivateKey]) -> None:
        self.flows = flows
        self.faults = faults
        self._stranger = cache(make_key)

    def attend(self, provider: Provider, call: Call, route: Route) -> tuple[Answer, str | None]:
        """Let a provider answer while the armed faults act. Record the step in the timeline of the flow.

        Return the response, and the id of the flow to which the request belongs, if any.
        """
        leg, handler = route
        if leg is None:
            return provider.answer(handler, call), None
        misbehaviour = self._page(provider, leg, call) if leg in PAGES else self._back_channel(provider, leg, call)
        attended = self._attended(misbehaviour, leg, handler)
        call.hooks = misbehaviour
        try:
            answer = misbehaviour.answer(provider.answer(attended, call))
        finally:
            call.hooks = UNTOUCHED
        misbehaviour.record(answer)
        return answer, misbehaviour.flow_id

    def clear(self) -> None:
        self.flows.clear()
        self.faults.clear()

    def _attended(self, misbehaviour: Misbehaviour, leg: Leg, handler: Handler) -> Handler:
        """Wrap an endpoint, so that faults can act before the endpoint, and so that refusals are recorded."""

        def attend(call: Call) -> Answer:
            try:
                if leg is Leg.CONSENT:
                    misbehaviour.note = APPROVED if call.form.get("decision") == "approve" else DECLINED
                    menu.arm_chosen(self.faults, misbehaviour.flow_id, call)
                before = None if leg in PAGES else misbehaviour.before()
                return handler(call) if before is None else before
            except Refusal as refusal:
                if misbehaviour.note != DECLINED:
                    misbehaviour.refused(refusal)
                raise

        return attend

    def _page(self, provider: Provider, leg: Leg, call: Call) -> Misbehaviour:
        """Return the hooks for a request of a browser, with the flow that the request begins or continues."""
        moment = self._moment(provider, leg, call, self._asking(provider, leg, call))
        return Misbehaviour(self.faults, moment, verdicts.of_request(provider, call))

    def _back_channel(self, provider: Provider, leg: Leg, call: Call) -> Misbehaviour:
        """Return the hooks for a back-channel request of a client, with the flow of the code or token."""
        params = call.query | call.form if call.query_string else call.form
        grant = grant_of(provider, call, params)
        flow = self.flows.get(grant.flow) if grant is not None and grant.flow is not None else None
        moment = self._moment(provider, leg, call, flow, client_id_of(provider, call, params))
        if grant is None or leg is not Leg.TOKEN:
            return Misbehaviour(self.faults, moment, {})
        note = params.get("grant_type", "authorization_code")[:NOTE]
        return Misbehaviour(self.faults, moment, verdicts.of_exchange(provider, call, grant, flow), note)

    def _moment(
        self, provider: Provider, leg: Leg, call: Call, flow: Flow | None, client_id: str | None = None
    ) -> Moment:
        at = provider.world.clock()
        return Moment(provider, leg, call, at, flow, self.flows, self._stranger, client_id)

    def _asking(self, provider: Provider, leg: Leg, call: Call) -> Flow | None:
        """Return the flow of a submitted consent form.

        For another request, start a new flow, even for an unknown client.
        """
        flow = self.flows.get(call.form.get("flow", "")) if leg is Leg.CONSENT else None
        if flow is not None and flow.provider == provider.name:
            return flow
        query = call.query
        return self.flows.begin(
            provider.name,
            clean(query.get(provider.client_parameter, "")[:LONGEST_ID]),
            state=query.get("state"),
            login_hint=clean(query[provider.hint]) if provider.hint in query else None,
            cookie=call.cookie(COOKIE),
        )


def grant_of(provider: Provider, call: Call, params: Mapping[str, str]) -> Grant | None:
    """Return the grant that the request's code or token belongs to."""
    code = provider.grants.codes.get(params.get("code", ""))
    if code is not None:
        return code.grant
    texts = (provider.bearer_text(call), *(params.get(name) for name in STAND_FOR_GRANTS))
    issued = next((found for text in texts if text and (found := provider.grants.find(text))), None)
    return issued.grant if issued else None


def client_id_of(provider: Provider, call: Call, params: Mapping[str, str]) -> str | None:
    header = call.headers.get("authorization", "")
    by_header = basic_pairs(header) if header[:6].lower() == "basic " else []
    return by_header[0][0] if by_header else params.get(provider.client_parameter)
