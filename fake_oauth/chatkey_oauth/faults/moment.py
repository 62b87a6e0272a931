"""One request while the lab is on: what the armed faults make of it, and what the timeline will say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from chatkey_oauth.engine.flows import Leg, Step, Verdict
from chatkey_oauth.engine.refusals import Refusal, TokenRefused
from chatkey_oauth.engine.text import clean
from chatkey_oauth.faults import verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatkey_oauth.engine.authorize import AuthorizationRequest, Callback
    from chatkey_oauth.engine.flows import Flow
    from chatkey_oauth.engine.http import Answer, Call
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.provider import Provider
    from chatkey_oauth.engine.signing import Draft
    from chatkey_oauth.faults.fault import Fault
    from chatkey_oauth.faults.rules import Rule
    from chatkey_oauth.faults.watch import Watch

T = TypeVar("T")


class Moment:
    """What happens between the arrival of a request and its answer. The engine calls it at each point of `Fault`."""

    def __init__(
        self,
        watch: Watch,
        provider: Provider,
        leg: Leg,
        call: Call,
        *,
        flow: Flow | None,
        client_id: str | None = None,
    ) -> None:
        self.watch = watch
        self.provider = provider
        self.leg = leg
        self.call = call
        self.flow = flow
        self.client_id = client_id
        self.at = provider.world.clock()
        self.request: AuthorizationRequest | None = None
        self.verdicts: dict[str, Verdict] = {}
        self.hits: list[str] = []
        self.note = ""
        self.way_back: Step | None = None

    @property
    def flow_id(self) -> str | None:
        """The flow by its id, which keeps nothing alive."""
        return self.flow.id if self.flow else None

    # The points at which faults act

    def instead(self, request: AuthorizationRequest | None = None) -> Answer | None:
        """What takes the place of the endpoint's work. Raises `Refusal`."""
        self.request = request
        for rule, fault in self._armed():
            if self.leg in fault.acts_on and (outcome := fault.instead(self)) is not None:
                self._hit(rule)
                if isinstance(outcome, Refusal):
                    raise outcome
                return outcome
        return None

    def approved(self, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """The scopes that a person's approval grants."""
        if self.flow is not None:
            self.flow.account = person.id
        return self._bend(scopes, lambda fault, value: fault.grants(value, self))

    def callback(self, callback: Callback) -> Callback:
        """The way back to the client, which is a step of its own."""
        before = len(self.hits)
        sent = self._bend(callback, lambda fault, value: fault.callback(value, self))
        if self.flow is not None:
            self.way_back = Step(
                leg=Leg.CODE,
                at=self.at,
                method="POST" if sent.mode == "form_post" else "GET",
                path=without_query(sent.redirect_uri),
                status=200 if sent.page or sent.mode == "form_post" else 302,
                verdicts=verdicts.of_callback(self.flow, callback, sent),
                faults=self.hits[before:],
                note="kept in the popup" if sent.page else f"carries {', '.join(sent.params) or 'nothing'}",
            )
            del self.hits[before:]
        return sent

    def token(self, body: dict[str, Any]) -> dict[str, Any]:
        """The members of the token answer."""
        return self._bend(body, lambda fault, value: fault.token(value, self))

    def id_token(self, draft: Draft) -> Draft:
        """The id_token before it is signed."""
        return self._bend(draft, lambda fault, value: fault.id_token(value, self))

    def answer(self, answer: Answer) -> Answer:
        """The finished answer."""
        return self._bend(answer, lambda fault, value: fault.answer(value, self) if self.leg in fault.acts_on else None)

    def form_part(self) -> str:
        """What the consent form carries for the lab: the flow, and the menu of faults."""
        from chatkey_oauth.faults.menu import form_part

        return form_part(self)

    # The timeline

    def refused(self, refusal: Refusal) -> None:
        """Note why the endpoint refuses; its answer may be less plain, or have status 200."""
        why = refusal.reason if isinstance(refusal, TokenRefused) else refusal
        self.note = f"refused: {why}"

    def record(self, answer: Answer) -> None:
        """Write the step down, and the way back that it led to."""
        if self.flow is None:
            return
        standing = self.flow.steps[-1].verdicts if self.flow.steps else {}
        kept = {name: verdict for name, verdict in standing.items() if name in {"pkce", "state", "nonce"}}
        step = Step(
            leg=self.leg,
            at=self.at,
            method=self.call.method,
            path=clean(self.call.path),
            status=answer.status,
            verdicts=kept | self.verdicts,
            faults=self.hits,
            note=clean(self.note),
        )
        self.flow.add(step)
        if self.way_back is not None:
            self.way_back.verdicts = kept | self.verdicts | self.way_back.verdicts
            self.flow.add(self.way_back)

    # Rules

    def _armed(self) -> Iterator[tuple[Rule, Fault]]:
        return self.watch.faults.armed(self.provider.name, self.client_id, self.flow)

    def _bend(self, value: T, act: Callable[[Fault, T], T | None]) -> T:
        for rule, fault in self._armed():
            bent = act(fault, value)
            if bent is not None:
                self._hit(rule)
                value = bent
        return value

    def _hit(self, rule: Rule) -> None:
        self.watch.faults.hit(rule)
        self.hits.append(rule.fault)


def without_query(uri: str) -> str:
    """An address without its parameters."""
    return urlsplit(uri)._replace(query="", fragment="").geturl()
