"""The watch over every request while the lab is on: which leg of which flow it is, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.credentials import basic_pairs
from chatkey_oauth.engine.flows import COOKIE, Flow, Flows, Leg
from chatkey_oauth.engine.refusals import Refusal
from chatkey_oauth.engine.text import clean
from chatkey_oauth.faults import menu, verdicts
from chatkey_oauth.faults.moment import Moment

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.engine.grants import Grant
    from chatkey_oauth.engine.http import Answer, Call, Handler
    from chatkey_oauth.engine.provider import Provider
    from chatkey_oauth.faults.rules import Faults

LEGS: Final[Mapping[str, Leg | None]] = {
    "discovery": Leg.DISCOVERY,
    "metadata": Leg.DISCOVERY,
    "jwks": Leg.KEYS,
    "certificates": Leg.KEYS,
    "authorize": Leg.AUTHORIZE,
    "consent": Leg.CONSENT,
    "token": Leg.TOKEN,
    "revoke": Leg.REVOKE,
    "delete_token": Leg.REVOKE,
    "remove_permissions": Leg.REVOKE,
    "avatar": None,
    "device": None,
    "<lambda>": None,
}
"""What the methods that answer requests are for; every other one is an endpoint behind the access token."""

NOTE: Final = 60
"""How much of a grant type is noted."""

APPROVED: Final = "approved"
DECLINED: Final = "declined"

STAND_FOR_GRANTS: Final = ("refresh_token", "token", "access_token", "input_token", "fb_exchange_token")
"""Parameters that carry a token."""


class Watch:
    """The flows and faults of one fake."""

    def __init__(self, flows: Flows, faults: Faults) -> None:
        self.flows = flows
        self.faults = faults
        self._stranger: RSAPrivateKey | None = None

    def attend(self, provider: Provider, handler: Handler, call: Call) -> Answer:
        """Answer a request under the eyes of the armed faults, and write it into the timeline of its flow."""
        leg = LEGS.get(getattr(handler, "__name__", "<lambda>"), Leg.PROFILE)
        if leg is None:
            return provider.answer(handler, call)
        moment = self._moment(provider, leg, call)
        call.leg, call.flow = leg, moment.flow_id
        provider.moment = moment
        try:
            answer = moment.answer(provider.answer(attended(moment, handler), call))
        finally:
            provider.moment = None
        moment.record(answer)
        return answer

    def stranger(self, provider: Provider) -> RSAPrivateKey:
        """A key of nobody's, which is never published."""
        if self._stranger is None:
            self._stranger = provider.world.make_key()
        return self._stranger

    def clear(self) -> None:
        """Forget all flows and disarm all rules."""
        self.flows.clear()
        self.faults.clear()

    def _moment(self, provider: Provider, leg: Leg, call: Call) -> Moment:
        if leg in {Leg.AUTHORIZE, Leg.CONSENT}:
            moment = Moment(self, provider, leg, call, flow=self._asking(provider, leg, call))
            moment.verdicts = verdicts.of_request(provider, call)
            return moment
        params = call.query | call.form
        grant = grant_of(provider, call, params)
        flow = self.flows.get(grant.flow) if grant is not None and grant.flow is not None else None
        moment = Moment(self, provider, leg, call, flow=flow, client_id=client_id_of(provider, call, params))
        if grant is not None and leg is Leg.TOKEN:
            moment.verdicts = verdicts.of_exchange(provider, call, grant, flow)
            moment.note = params.get("grant_type", "authorization_code")[:NOTE]
        return moment

    def _asking(self, provider: Provider, leg: Leg, call: Call) -> Flow | None:
        """The flow of the consent form, or a new one for a client that is known."""
        flow = self.flows.get(call.form.get("flow", "")) if leg is Leg.CONSENT else None
        if flow is not None and flow.provider == provider.name:
            return flow
        client_id = call.query.get(provider.client_parameter, "")
        if provider.world.clients.get(provider.name, client_id) is None:
            return None
        return self.flows.begin(
            provider.name,
            client_id,
            state=call.query.get("state"),
            login_hint=clean(call.query[provider.hint]) if provider.hint in call.query else None,
            cookie=call.cookie(COOKIE),
        )


def attended(moment: Moment, handler: Handler) -> Handler:
    """An endpoint that lets faults go first, and whose refusals are noted."""

    def attend(call: Call) -> Answer:
        try:
            if moment.leg is Leg.CONSENT:
                moment.note = APPROVED if call.form.get("decision") == "approve" else DECLINED
                menu.arm_chosen(moment)
            # The authorization endpoint asks by itself, once it knows the request.
            before = None if moment.leg in {Leg.AUTHORIZE, Leg.CONSENT} else moment.instead()
            return handler(call) if before is None else before
        except Refusal as refusal:
            if moment.note != DECLINED:
                moment.refused(refusal)
            raise

    return attend


def grant_of(provider: Provider, call: Call, params: Mapping[str, str]) -> Grant | None:
    """The approval that the code or token of a request stands for."""
    code = provider.grants.codes.get(params.get("code", ""))
    if code is not None:
        return code.grant
    texts = (provider.bearer_text(call), *(params.get(name) for name in STAND_FOR_GRANTS))
    issued = next((found for text in texts if text and (found := provider.grants.find(text))), None)
    return issued.grant if issued else None


def client_id_of(provider: Provider, call: Call, params: Mapping[str, str]) -> str | None:
    """Which client a request says it comes from."""
    header = call.headers.get("authorization", "")
    by_header = basic_pairs(header) if header[:6].lower() == "basic " else []
    return by_header[0][0] if by_header else params.get(provider.client_parameter)
