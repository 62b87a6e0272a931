"""Applies the armed faults to one request, and records the request as a step of the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from chatkey_oauth.engine.flows import Leg, Step, Verdict
from chatkey_oauth.engine.hooks import Hooks
from chatkey_oauth.engine.refusals import Refusal, TokenRefused
from chatkey_oauth.engine.text import clean
from chatkey_oauth.faults import menu, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest, Callback
    from chatkey_oauth.engine.signing import Draft
    from chatkey_oauth.faults.fault import Fault
    from chatkey_oauth.faults.moment import Moment
    from chatkey_oauth.faults.rules import Faults, Rule

T = TypeVar("T")

STANDING = frozenset({"pkce", "state", "nonce"})
"""The names of the verdicts on the authorization request that apply to the remaining flow."""


APPROVED: Final = "approved"
DECLINED: Final = "declined"
REFUSED: Final = "refused: "
"""The notes of the timeline on a decision of the person. The note on a refusal continues with the reason."""


class Misbehaviour(Hooks):
    """Hooks that apply the armed faults to one request. Each hook calls the method of `Fault` with the same name.

    `judged` has the verdicts on the protections of the request. `note` is a further remark for the timeline.
    """

    __slots__ = ("_faults", "_hits", "_judged", "_moment", "note")

    def __init__(self, faults: Faults, moment: Moment, judged: dict[str, Verdict], note: str = "") -> None:
        self._faults = faults
        self._moment = moment
        self._judged = judged
        self._hits: list[str] = []
        self.note = note

    @property
    def flow_id(self) -> str | None:
        """The id of the request's flow.

        A grant stores only this id, because the grant must not keep the flow in memory.
        """
        return self._moment.flow.id if self._moment.flow else None

    # The points at which faults act

    def instead(self, request: AuthorizationRequest) -> Answer | None:
        self._moment.request = request
        return self.before()

    def before(self) -> Answer | None:
        """Return a response to send instead of calling the endpoint, or None. Raises `Refusal`."""
        if not self._faults.are_armed:
            return None
        for rule, fault in self._armed():
            if self._moment.leg in fault.acts_on and (outcome := fault.instead(self._moment)) is not None:
                self._hit(rule)
                if isinstance(outcome, Refusal):
                    raise outcome
                return outcome
        return None

    def form_part(self, request: AuthorizationRequest) -> str:
        flow = self._moment.flow
        return "" if flow is None else menu.form_part(flow, with_id_token=self._moment.provider.signs(request.scopes))

    def approved(self, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the scopes that a person's approval grants. Record the person in the flow."""
        if self._moment.flow is not None:
            self._moment.flow.account = person.id
        return self._bend(scopes, lambda fault, value: fault.grants(value, self._moment))

    def callback(self, callback: Callback) -> Callback:
        """Return the callback to send to the client. The callback becomes a separate step of the timeline."""
        before = len(self._hits)
        sent = self._bend(callback, lambda fault, value: fault.callback(value, self._moment))
        if self._moment.flow is not None:
            self._moment.way_back = Step(
                leg=Leg.CODE,
                at=self._moment.at,
                method="POST" if sent.mode == "form_post" else "GET",
                path=without_query(sent.redirect_uri),
                status=200 if sent.page or sent.mode == "form_post" else 302,
                verdicts=verdicts.of_callback(self._moment.flow, callback, sent),
                faults=self._hits[before:],
                note="the popup stays open" if sent.page else f"carries {', '.join(sent.params) or 'nothing'}",
            )
            del self._hits[before:]
        return sent

    def token(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._bend(body, lambda fault, value: fault.token(value, self._moment))

    def id_token(self, draft: Draft) -> Draft:
        return self._bend(draft, lambda fault, value: fault.id_token(value, self._moment))

    def answer(self, answer: Answer) -> Answer:
        """Return the response after the faults for this step of the login have acted."""
        leg = self._moment.leg
        return self._bend(
            answer, lambda fault, value: fault.answer(value, self._moment) if leg in fault.acts_on else None
        )

    # The timeline

    def refused(self, refusal: Refusal) -> None:
        """Record why the endpoint refused. The response may be less specific, and may have status 200."""
        why = refusal.reason if isinstance(refusal, TokenRefused) else refusal
        self.note = f"{REFUSED}{str(why).rstrip('.')}. {refusal.advice}" if refusal.advice else f"{REFUSED}{why}"

    def record(self, answer: Answer) -> None:
        """Add the step to the timeline. If there was a callback, add a step for the callback, too."""
        moment, flow = self._moment, self._moment.flow
        if flow is None:
            return
        judged = self._judged
        if flow.steps:
            before = flow.steps[-1].verdicts
            judged = {name: verdict for name, verdict in before.items() if name in STANDING} | judged
        step = Step(
            leg=moment.leg,
            at=moment.at,
            method=moment.call.method,
            path=clean(moment.call.path),
            status=answer.status,
            verdicts=judged,
            faults=self._hits,
            note=clean(self.note),
        )
        flow.add(step)
        if moment.way_back is not None:
            moment.way_back.verdicts = judged | moment.way_back.verdicts
            flow.add(moment.way_back)

    # Rules

    def _armed(self) -> list[tuple[Rule, Fault]]:
        moment = self._moment
        return self._faults.armed(moment.provider.name, moment.client_id, moment.flow)

    def _bend(self, value: T, act: Callable[[Fault, T], T | None]) -> T:
        if not self._faults.are_armed:
            return value
        for rule, fault in self._armed():
            bent = act(fault, value)
            if bent is not None:
                self._hit(rule)
                value = bent
        return value

    def _hit(self, rule: Rule) -> None:
        self._faults.hit(rule)
        self._hits.append(rule.fault)


def without_query(uri: str) -> str:
    return uri.partition("#")[0].partition("?")[0]
