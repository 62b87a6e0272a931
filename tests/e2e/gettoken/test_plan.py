"""The plan: what a clean run sends, without sending it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from chatkey_e2e.gettoken.calls.shared import Calls
from chatkey_e2e.gettoken.model import Verdict
from chatkey_e2e.gettoken.running.runner import run
from chatkey_e2e.gettoken.target import Login, Target
from chatkey_e2e.gettoken.wire.planned import PlanClock, PlanWire
from mutant_backend import Backend


def planned(target: Target) -> PlanWire:
    clock = PlanClock()
    wire = PlanWire(target, now=clock.now)
    with Calls(target, wire=wire, now=clock.now, sleep=clock.sleep) as calls:
        report = run(calls)
    assert {outcome.verdict for outcome in report.outcomes} <= {Verdict.PASS, Verdict.SKIP}
    return wire


@pytest.mark.parametrize("login", ["two", "one", "form", "nobody"])
def test_the_plan_holds_the_requests_of_a_clean_run_and_no_other(
    target: Target, base: str, calls: Calls, login: str
) -> None:
    form = Login(url=f"{base}/login", fields=(("user", "ada"), ("password", "hunter-2")))
    changed = {
        "two": target,
        "one": replace(target, login_b=None, secret=None),
        "form": replace(target, login=form, login_b=None, logout_url=f"{base}/logout", whoami=f"{base}/me"),
        "nobody": replace(target, login=None, login_b=None, provider_id=None),
    }[login]
    calls.target = changed

    run(calls)
    wire = planned(changed)

    sent = Counter(exchange.request.label for exchange in calls.log)
    assert Counter(request.label for request in wire.sent) - sent == Counter()
    extra = sent - Counter(request.label for request in wire.sent)
    assert set(extra) <= {"the login: where it leads", "the same person's second login: where it leads"}


def test_nothing_is_sent(target: Target, backend: Backend) -> None:
    wire = planned(target)

    assert len(wire.sent) > 50
    assert backend.calls == 0
