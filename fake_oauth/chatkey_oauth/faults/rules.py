"""Rules that arm faults. A rule says for which logins a fault acts and how often, and counts the hits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from chatkey_oauth.engine.flows import Flow, Leg
from chatkey_oauth.engine.grants import Ring
from chatkey_oauth.faults.errors import FaultError
from chatkey_oauth.faults.fault import Fault, summary

if TYPE_CHECKING:
    from collections.abc import Mapping

RULES: Final = 1000
"""The maximum number of stored rules, including spent rules. A new rule then replaces the oldest rule."""

WITHOUT_FLOW: Final = frozenset({Leg.DISCOVERY, Leg.KEYS})
"""The steps whose requests belong to no flow and name no client."""


class Scope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The logins that a fault affects. All given members must match. Without members, the scope includes every login.

    `state`, `login_hint` and `cookie` are compared with the authorization request. `cookie` is the value of the cookie
    `chatkey_flow` of a browser context. `account` matches only after the person has chosen.
    """

    provider: str | None = None
    account: str | None = None
    client_id: str | None = None
    flow: str | None = None
    state: str | None = None
    login_hint: str | None = None
    cookie: str | None = None

    def matches(self, flow: Flow) -> bool:
        return (
            self.provider in {None, flow.provider}
            and self.account in {None, flow.account}
            and self.client_id in {None, flow.client_id}
            and self.flow in {None, flow.id}
            and self.state in {None, flow.state}
            and self.login_hint in {None, flow.login_hint}
            and self.cookie in {None, flow.cookie}
        )

    def matches_request(self, provider: str, client_id: str | None) -> bool:
        """Return whether the scope includes a request of an unknown flow."""
        asked = {name for name in self.__struct_fields__ if getattr(self, name) is not None}
        return (
            asked <= {"provider", "client_id"}
            and self.provider in {None, provider}
            and self.client_id in {None, client_id}
        )


Times = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class Order(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The parameters of a rule: the name of a fault, the scope, how often the fault acts, and the options of the fault.

    If `times` is None, the fault acts until the rule is disarmed. In JSON, the options are called `with`.
    """

    fault: str
    scope: Scope = Scope()
    times: Times | None = 1
    with_: dict[str, Any] = msgspec.field(name="with", default_factory=dict)


class Rule(Order, kw_only=True):
    """A rule that arms a fault, with the number of its hits."""

    id: str
    armed_at: float
    hits: int = 0

    @property
    def spent(self) -> bool:
        """Whether the fault has acted `times` times."""
        return self.times is not None and self.hits >= self.times


class OptionInfo(msgspec.Struct, frozen=True):
    name: str
    summary: str
    default: Any


class FaultInfo(msgspec.Struct, frozen=True):
    name: str
    legs: tuple[Leg, ...]
    summary: str
    options: tuple[OptionInfo, ...]


class Faults:
    """The existing faults (`kinds`, by name), and the rules that arm them."""

    def __init__(
        self,
        clock: Callable[[], float],
        random: Callable[[int], bytes],
        providers: Collection[str],
        kinds: Mapping[str, type[Fault]],
    ) -> None:
        self._clock = clock
        self._random = random
        self._providers = providers
        self._kinds = kinds
        self._rules: Ring[Rule] = Ring(RULES)
        self._armed: dict[str, tuple[Rule, Fault]] = {}

    def arm(self, order: Order) -> Rule:
        """Arm a fault. Raises `FaultError`, which names the invalid member."""
        fault = self._fault(order)
        self._check_scope(order, fault)
        rule = Rule(
            id=f"r_{self._random(8).hex()}",
            armed_at=self._clock(),
            fault=order.fault,
            scope=order.scope,
            times=order.times,
            with_=order.with_,
        )
        self._rules.put(rule.id, rule)
        self._armed[rule.id] = (rule, fault)
        self._forget_old()
        return rule

    def disarm(self, rule_id: str) -> Rule | None:
        """Remove a rule, and return it with the number of its hits. Return None if there is no rule with this id."""
        self._armed.pop(rule_id, None)
        return self._rules.pop(rule_id)

    def get(self, rule_id: str) -> Rule | None:
        return self._rules.get(rule_id)

    def rules(self) -> list[Rule]:
        """Return all stored rules, including spent rules, newest first."""
        return self._rules.newest_first()

    def unused(self) -> list[Rule]:
        return [rule for rule in self.rules() if not rule.hits]

    def clear(self) -> None:
        self._rules.clear()
        self._armed.clear()

    @property
    def are_armed(self) -> bool:
        """Whether any fault can still act."""
        return bool(self._armed)

    def armed(self, provider: str, client_id: str | None, flow: Flow | None) -> list[tuple[Rule, Fault]]:
        """Return the rules that apply to a request, in the order in which they were armed."""
        if not self._armed:
            return []
        return [
            (rule, fault)
            for rule, fault in self._armed.values()
            if (rule.scope.matches(flow) if flow else rule.scope.matches_request(provider, client_id))
        ]

    def hit(self, rule: Rule) -> None:
        """Count a hit of a rule. If the fault has acted `times` times, disarm the rule."""
        rule.hits += 1
        if rule.spent:
            self._armed.pop(rule.id, None)

    def catalogue(self) -> list[FaultInfo]:
        """Return every fault with its legs, description and options."""
        return [describe(kind) for kind in self._kinds.values()]

    def _fault(self, order: Order) -> Fault:
        kind = self._kinds.get(order.fault)
        if kind is None:
            raise FaultError("fault", unknown_fault(order.fault, self._kinds))
        options = {field.name for field in msgspec.structs.fields(kind)}
        if strange := sorted(order.with_.keys() - options):
            known = ", ".join(sorted(options)) or "none"
            raise FaultError(f"with.{strange[0]}", f"{order.fault} has no such option. Its options: {known}.")
        try:
            fault = msgspec.convert(order.with_, kind)
        except msgspec.ValidationError as error:
            what, _, path = str(error).partition(" - at `$.")
            raise FaultError(f"with.{path.rstrip('`')}", f"{what}.") from None
        if strange_legs := [leg for leg in fault.acts_on if leg not in kind.legs]:
            known = ", ".join(kind.legs)
            raise FaultError("with.leg", f"{order.fault} cannot act on {strange_legs[0]}. It can act on: {known}.")
        return fault

    def _check_scope(self, order: Order, fault: Fault) -> None:
        scope = order.scope
        if scope.provider is not None and scope.provider not in self._providers:
            raise FaultError("scope.provider", f"{scope.provider!r} is not one of {', '.join(self._providers)}.")
        given = [name for name in scope.__struct_fields__ if name != "provider" and getattr(scope, name) is not None]
        if given and WITHOUT_FLOW.issuperset(fault.acts_on):
            why = f"requests for {' and '.join(fault.acts_on)} do not belong to a flow, client or account"
            raise FaultError(f"scope.{given[0]}", f"{why}. Scope {order.fault} to a provider.")

    def _forget_old(self) -> None:
        """Disarm the oldest armed rule if the ring has deleted it. The armed rules and the ring have the same order."""
        oldest = next(iter(self._armed))
        if self._rules.get(oldest) is None:
            del self._armed[oldest]


def describe(kind: type[Fault]) -> FaultInfo:
    options = tuple(
        OptionInfo(field.name, option_summary(field.type), field.default) for field in msgspec.structs.fields(kind)
    )
    return FaultInfo(kind.name, kind.legs, summary(kind), options)


def option_summary(annotation: Any) -> str:
    """Return the description of an option from its annotated type."""
    notes = (note.description for note in getattr(annotation, "__metadata__", ()) if isinstance(note, msgspec.Meta))
    return next((note for note in notes if note), "")


def unknown_fault(name: str, known: Collection[str]) -> str:
    """Return the message about an unknown fault, with the most similar existing name."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f"{name!r} is not a fault. " + (f"Did you mean {close[0]!r}?" if close else "GET /lab lists all faults.")
