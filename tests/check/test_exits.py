"""Tests of the exit status."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatkey_check import checks
from chatkey_check.model import Outcome, Report, Verdict
from chatkey_check.reports.exits import status
from chatkey_peer.exits import Exit

UNREADY = "the endpoint limits calls"


def report_of(stale: tuple[str, ...] = (), **verdicts: Verdict | tuple[Verdict, str]) -> Report:
    """Return a report with these verdicts. A verdict may have the reason for which its failure is listed as known."""
    outcomes = []
    for name, verdict in verdicts.items():
        kind, known = verdict if isinstance(verdict, tuple) else (verdict, "")
        check = checks.load_one(name.replace("__", ".").replace("_", "-"))
        outcomes.append(Outcome(check, kind, UNREADY, blocked_by=BLOCKER if kind is B else "", known=known))
    return Report("http://x", {}, {}, "", 0.0, 0.0, {}, None, tuple(outcomes), stale)


BLOCKER = "claim.type"
P, W, F, S, B, E = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.SKIP, Verdict.BLOCKED, Verdict.ERROR


@pytest.mark.parametrize(
    ("report", "wanted"),
    [
        (report_of(net__resolves=P, claim__type=P), Exit.CLEAN),
        (report_of(net__resolves=P, claim__type=W), Exit.CLEAN),
        (report_of(net__resolves=P, claim__type=F, claim__pid=P), Exit.FAILED),
        (report_of(net__resolves=P, claim__type=(F, "known"), claim__pid=P), Exit.CLEAN),
        (report_of(("claim.pid: it passes now",), net__resolves=P, claim__pid=P), Exit.FAILED),
        (report_of(net__tls=F, claim__pid=B), Exit.FAILED),
        (report_of(net__resolves=P, claim__type=E, claim__pid=F), Exit.OURS),
        (report_of(net__resolves=P, claim__type=S, claim__pid=B), Exit.NOTHING_JUDGED),
        (report_of(net__resolves=F, claim__type=B), Exit.UNREACHABLE),
    ],
)
def test_the_status_follows_from_the_verdicts(report: Report, wanted: Exit) -> None:
    assert status(report) is wanted


@pytest.mark.parametrize(
    ("verdict", "about", "wanted"),
    [
        (S, {}, Exit.NOT_ALL_JUDGED),
        (S, {"option": "--page-url URL"}, Exit.CLEAN),
        (S, {"option": "--login-b 'Cookie: …'"}, Exit.NOT_ALL_JUDGED),
        (S, {"option": "--provider-id ID"}, Exit.NOT_ALL_JUDGED),
        (S, {"left_out": True}, Exit.CLEAN),
        (B, {"blocked_by": "claim.type"}, Exit.NOT_ALL_JUDGED),
    ],
)
def test_an_unjudged_must_check_is_a_gap_unless_it_needs_what_not_every_site_has(
    verdict: Verdict, about: dict[str, Any], wanted: Exit
) -> None:
    made = report_of(net__resolves=P, claim__type=(F, "known"), claim__uid=P, claim__pid=verdict)
    *others, last = made.outcomes

    report = replace(made, outcomes=(*others, replace(last, **{"blocked_by": "", **about})))

    assert status(report) is wanted


@pytest.mark.parametrize(("verdict", "wanted"), [(S, Exit.CLEAN), (P, Exit.CLEAN)])
def test_an_unjudged_should_check_is_no_gap(verdict: Verdict, wanted: Exit) -> None:
    assert status(report_of(net__resolves=P, claim__type=P, resp__no_store=verdict)) is wanted


def test_a_check_blocked_by_a_failure_is_no_further_gap() -> None:
    made = report_of(net__resolves=P, claim__type=F, claim__pid=B)

    assert (made.missed, status(made)) == ((), Exit.FAILED)


@pytest.mark.parametrize(
    ("about", "wanted"), [({"option": "--login-b"}, Exit.NOT_ALL_JUDGED), ({"left_out": True}, Exit.CLEAN)]
)
def test_with_require_all_every_unjudged_check_but_excluded_ones_is_a_gap(about: dict[str, Any], wanted: Exit) -> None:
    made = report_of(net__resolves=P, claim__type=P, resp__no_store=S)
    *others, last = made.outcomes

    report = replace(made, outcomes=(*others, replace(last, **about)), require_all=True)

    assert status(report) is wanted


@pytest.mark.parametrize(
    ("report", "wanted"),
    [
        (report_of(net__resolves=P, claim__type=W), Exit.WARNINGS),
        (report_of(net__resolves=P, claim__type=(W, "known"), claim__pid=P), Exit.CLEAN),
        (report_of(net__resolves=P, claim__type=W, claim__pid=F), Exit.FAILED),
        (report_of(net__resolves=P, claim__type=P), Exit.CLEAN),
    ],
)
def test_with_strict_warnings_change_the_exit_status(report: Report, wanted: Exit) -> None:
    assert status(report, strict=True) is wanted


def test_the_numbers_are_those_of_the_documentation() -> None:
    assert {exit_.name: exit_.value for exit_ in Exit} == {
        "CLEAN": 0,
        "FAILED": 1,
        "OURS": 3,
        "NOT_STARTED": 4,
        "NOTHING_JUDGED": 5,
        "WARNINGS": 6,
        "UNREACHABLE": 7,
        "NO_BROWSER": 8,
        "NOT_ALL_JUDGED": 9,
    }
