"""Tests of the plan. The plan lists the requests that a run without failures would send."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from tests.check.mutants.mutant_backend import Backend
from tests.check.mutants.mutant_server import Server
from tests.check.mutants.received import Received

from chatkey_check.calls.listed import Unlisted
from chatkey_check.command.plan import plan
from chatkey_check.exchange import Request
from chatkey_check.model import Verdict
from chatkey_check.running.runner import report_of
from chatkey_check.target import Login, Target
from chatkey_check.wire.http import HttpWire

STRAYS = [
    Request("", "POST", "/account/delete", body=b"csrf=c-41"),
    Request("", "POST", "/logout"),
    Request("", "GET", "/logout"),
    Request("", "DELETE", "/account"),
]
CHANGING = [
    Request("", "POST", "/account/delete", body=b"user=ada"),
    Request("", "POST", "/account/delete", (("Origin", "https://sso.example"),), b"csrf=c-41"),
]
"""The list allows such forms of a login. The sites of the self-test know which of their paths belong to the login."""


def planned(target: Target) -> Counter[str]:
    """Return how often a run would send each request, by label."""
    made = plan(target)
    assert {outcome.verdict for outcome in made.report.outcomes} <= {Verdict.PASS, Verdict.SKIP}
    return Counter(request.label for request in made.requests)


@pytest.mark.parametrize("login", ["two", "one", "form", "nobody"])
def test_the_plan_holds_the_requests_of_a_clean_run_and_no_other(
    target: Target, base: str, make_run: Any, login: str
) -> None:
    form = Login(url=f"{base}/login", fields=(("user", "ada"), ("password", "hunter-2")))
    changed = {
        "two": target,
        "one": replace(target, login_b=None, secret=None),
        "form": replace(target, login=form, login_b=None, logout_url=f"{base}/logout", whoami=f"{base}/me"),
        "nobody": replace(target, login=None, login_b=None, provider_id=None),
    }[login]
    run = make_run(changed)

    report_of(run)
    would_send = planned(changed)

    sent = Counter(exchange.request.label for exchange in run.calls.record.log)
    assert would_send - sent == Counter()
    extra = sent - would_send
    assert set(extra) <= {
        "the login: the redirect after the form",
        "an earlier login of the same person: the redirect after the form",
        "the same call again, to compare the answers",  # sent if the machine is so busy that some calls are slow
    }


def test_nothing_is_sent(target: Target, backend: Backend) -> None:
    would_send = planned(target)

    assert would_send.total() > 50
    assert backend.calls == 0


def with_form(target: Target, base: str) -> Target:
    return replace(target, url=f"{base}/chat/token", login=Login(url=f"{base}/login", fields=(("user", "ada"),)))


@pytest.mark.parametrize("stray", STRAYS)
def test_a_request_that_is_not_on_the_list_is_not_sent(
    target: Target, base: str, make_run: Any, stray: Request
) -> None:
    run = make_run(with_form(target, base))

    with pytest.raises(Unlisted, match=f"{stray.method} {base}{stray.url} "):
        run.calls.wire.send(stray.with_url(base + stray.url))


@pytest.mark.parametrize("stray", [*STRAYS, *CHANGING])
def test_the_self_test_notices_a_request_that_is_not_listed_or_could_change_something(
    target: Target, endpoints: Server, backend: Backend, stray: Request
) -> None:
    received = Received(Backend.forms)
    base = endpoints.add("strays", received.by("/strays", backend.handle))

    with closing(HttpWire(target)) as wire:
        wire.send(stray.with_url(base + stray.url))

    assert received.strays(with_form(target, base)) == [f"{stray.method} {base}{stray.url}"]
