"""Makes the fake provider misbehave for one browser context, and reports the logins of this context."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
from playwright.sync_api import BrowserContext

from chatkey_oauth.client import FLOW_COOKIE, FakeOAuth, FaultNotHit, LabError, Rule, Scope, timeline_text
from chatkey_stack.lab import ServiceLab
from chatkey_stack.stack import Stack


@dataclass
class Marks:
    """The marks by which the fake provider distinguishes the contexts of one test from all other contexts."""

    stack: Stack
    by_context: dict[BrowserContext, str] = field(default_factory=dict[BrowserContext, str])

    def mark(self, context: BrowserContext) -> None:
        """Mark all future logins in a context with a cookie for the fake provider."""
        value = self.by_context[context] = secrets.token_hex(8)
        context.add_cookies([{"name": FLOW_COOKIE, "value": value, "url": self.stack.provider.browser_url}])

    def timelines(self) -> Iterator[tuple[str, str]]:
        """Yield a title and a timeline for every attempted login, for a report."""
        try:
            for mark in self.by_context.values():
                for flow in reversed(self.stack.provider_lab.flows(Scope(cookie=mark))):
                    yield f"login {flow.id} at {flow.provider}", timeline_text(flow)
        except (LabError, httpx.HTTPError) as error:
            yield "logins", f"The fake provider's timelines could not be read: {error}"


class Faults:
    """The faults of the fake provider for one context."""

    def __init__(self, lab: FakeOAuth, mark: str) -> None:
        self._lab = lab
        self._mark = mark
        self._ids: set[str] = set()

    def arm(self, fault: str, *, provider: str | None = None, times: int | None = 1, **options: object) -> Rule:
        """Arm a fault by name, at one provider or at all providers.

        The fault acts on `times` requests. If `times` is None, it acts until the end of the test.
        """
        rule = self._lab.arm(fault, Scope(provider=provider, cookie=self._mark), times=times, **options)
        self._ids.add(rule.id)
        return rule

    def rules(self) -> list[Rule]:
        """Return the faults that were armed with this object and are still armed, with their hits."""
        return [rule for rule in self._lab.rules() if rule.id in self._ids]

    def disarm(self) -> None:
        """Disarm all faults that were armed with this object."""
        for rule in self.rules():
            self._lab.disarm(rule.id)


def missed(all_faults: list[Faults]) -> Iterator[str]:
    """Yield one sentence for each fault of the fake provider that was armed and never triggered."""
    for faults in all_faults:
        yield from (str(FaultNotHit(rule)) for rule in faults.rules() if not rule.hits)


def missed_by(lab: ServiceLab | None) -> Iterator[str]:
    """Yield one sentence for each fault of the service that is still armed and was never triggered."""
    for armed in lab.armed() if lab else ():
        if not armed["hits"]:
            rule = armed["rule"]
            yield f"The service's fault {rule['action']!r} at {rule['where']!r} was armed and never hit."
