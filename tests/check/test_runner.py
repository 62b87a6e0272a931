"""Tests of the runner: the order of checks, the first failure as the cause, and internal errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from tests.check.mutants.mutant_backend import Clock

from chatkey_check.exchange import Exchange, Request, Response
from chatkey_check.judging.check import Check, Judge
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import (
    ANSWERS,
    PRECONDITIONS,
    Blocked,
    Finding,
    Outcome,
    Phase,
    Severity,
    Skipped,
    Verdict,
)
from chatkey_check.run import Run
from chatkey_check.running.known import Known
from chatkey_check.running.runner import Selection, Silence, report_of
from chatkey_check.target import Target
from chatkey_check.wire.http import HttpWire

NOW = 1_800_000_000.0


class StandingClock(Clock):
    """A clock that advances only when somebody waits on it, so that slow computers do not affect the tests."""

    def now(self) -> float:
        return NOW + self._slept + self._waited

    def monotonic(self) -> float:
        return self._slept


@pytest.fixture
def clock() -> Clock:
    return StandingClock()


def check_of(
    name: str, judge: Judge, *, needs: tuple[str, ...] = (), phase: Phase = Phase.FIRST, group: str = ANSWERS
) -> Check:
    """Return a check that calls `judge`. The texts of the check are placeholders."""
    return Check(name, group, Severity.MUST, "", "sent", "passes", "The hint.", "Why.", (), {}, needs, phase, judge)


def passing(_: Run) -> Finding:
    return passed("seen")


def failing(_: Run) -> Finding:
    return failed("broken")


def skipping(_: Run) -> Finding:
    raise Skipped("not given", "--secret-env NAME")


def crashing(_: Run) -> Finding:
    raise LookupError("nowhere")


def unjudged(_: Run) -> Finding:
    pytest.fail("a blocked check must not be judged")


def verdicts(run: Run, *checks: Check, selection: Selection | None = None) -> dict[str, Outcome]:
    return {outcome.check.id: outcome for outcome in report_of(run, checks=checks, selection=selection).outcomes}


def test_a_failing_check_blocks_those_that_need_it_and_names_the_root(run: Run) -> None:
    found = verdicts(
        run,
        check_of("a", failing),
        check_of("b", unjudged, needs=("a",)),
        check_of("c", unjudged, needs=("b",)),
        check_of("d", passing),
    )

    assert [outcome.verdict for outcome in found.values()] == [
        Verdict.FAIL,
        Verdict.BLOCKED,
        Verdict.BLOCKED,
        Verdict.PASS,
    ]
    assert (found["b"].blocked_by, found["c"].blocked_by) == ("a", "a")


@pytest.mark.parametrize("judge", [passing, skipping, lambda _: warned("could be better")])
def test_passed_warned_and_unjudged_checks_block_nothing(run: Run, judge: Judge) -> None:
    found = verdicts(run, check_of("a", judge), check_of("b", passing, needs=("a",)))

    assert found["b"].verdict is Verdict.PASS


def test_a_check_may_be_blocked_by_a_later_one(run: Run) -> None:
    def about_b(_: Run) -> Finding:
        raise Blocked("b")

    found = verdicts(run, check_of("a", about_b), check_of("b", failing))

    assert (found["a"].verdict, found["a"].blocked_by) == (Verdict.BLOCKED, "b")
    assert found["b"].verdict is Verdict.FAIL


def test_a_crash_of_a_check_is_an_error_that_blocks_only_its_dependants(run: Run) -> None:
    found = verdicts(run, check_of("a", crashing), check_of("b", unjudged, needs=("a",)), check_of("c", passing))

    assert found["a"].verdict is Verdict.ERROR
    assert found["a"].message.startswith("LookupError: nowhere (test_runner.py:")
    assert (found["b"].verdict, found["c"].verdict) == (Verdict.BLOCKED, Verdict.PASS)


def test_a_skip_carries_its_reason_and_the_option_that_would_allow_it(run: Run) -> None:
    found = verdicts(run, check_of("a", skipping))

    assert (found["a"].verdict, found["a"].message, found["a"].option) == (
        Verdict.SKIP,
        "not given",
        "--secret-env NAME",
    )


def test_later_phases_are_judged_later_and_reported_in_order(run: Run) -> None:
    judged: list[str] = []

    def noting(name: str) -> Judge:
        def judge(_: Run) -> Finding:
            judged.append(name)
            return passed()

        return judge

    class Hearing(Silence):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def finished(self, outcome: Outcome) -> None:
            self.heard.append(outcome.check.id)

    listener = Hearing()
    checks = [
        check_of("a", noting("a"), phase=Phase.LAST),
        check_of("b", noting("b"), phase=Phase.LATER),
        check_of("c", noting("c")),
    ]

    report = report_of(run, checks=checks, listener=listener)

    assert judged == ["c", "b", "a"]
    assert listener.heard == [outcome.check.id for outcome in report.outcomes] == ["a", "b", "c"]


def test_an_unselected_check_is_skipped_but_still_blocks_others(run: Run) -> None:
    checks = (check_of("net.a", failing, group=PRECONDITIONS), check_of("claim.b", unjudged, needs=("net.a",)))

    found = verdicts(run, *checks, selection=Selection(only=("claim.*",)))

    assert (found["net.a"].verdict, found["claim.b"].verdict) == (Verdict.SKIP, Verdict.BLOCKED)
    assert found["claim.b"].blocked_by == "net.a"


def test_an_excluded_check_is_not_judged(run: Run) -> None:
    found = verdicts(run, check_of("a", unjudged), check_of("b", passing), selection=Selection(skip=("a",)))

    assert (found["a"].verdict, found["a"].message) == (Verdict.SKIP, "excluded by --skip")
    assert found["b"].verdict is Verdict.PASS


def test_a_known_failure_is_not_the_cause_and_an_entry_that_excuses_nothing_is_stale(run: Run) -> None:
    known = Known({"a": "our proxy does this", "b": "was broken", "x": "never was"})
    checks = [check_of("a", failing), check_of("b", passing), check_of("c", failing)]

    report = report_of(run, checks=checks, known=known)

    assert report.of("a").known == "our proxy does this"
    assert report.cause is not None
    assert report.cause.check.id == "c"
    assert report.stale == (
        "b: it passes now; remove the line",
        "x: there is no check with this id; remove the line",
    )


def test_calls_at_once_that_are_all_refused_for_rate_limits_are_not_judged(
    make_run: Callable[..., Run], target: Target
) -> None:
    class Limited(HttpWire):
        def send_together(self, requests: Sequence[Request]) -> list[Exchange]:
            return [Exchange(request, Response(429, (), b""), None, NOW, 0.0) for request in requests]

    report = report_of(make_run(target, Limited(target)))

    assert (report.of("conc.isolated").verdict, report.missed) == (Verdict.SKIP, (report.of("conc.isolated"),))
    assert report.of("conc.isolated").message.startswith("the endpoint limits the rate of calls (429 after ")


def test_a_given_header_replaces_ours_and_that_of_a_probe_replaces_both(
    make_run: Callable[..., Run], target: Target
) -> None:
    calls = make_run(replace(target, headers=(("user-agent", "Mozilla/5.0"), ("Origin", "https://app.example")))).calls

    sent = calls.request("a call", calls.member, headers=[("Origin", "https://evil.example")]).headers

    named = {name.lower(): [value for found, value in sent if found.lower() == name.lower()] for name, _ in sent}
    assert (named["user-agent"], named["origin"]) == (["Mozilla/5.0"], ["https://evil.example"])


def test_a_correct_endpoint_passes_every_judged_check(run: Run) -> None:
    report = report_of(run)

    assert report.count(Verdict.PASS) + report.count(Verdict.SKIP) == len(report.outcomes)
    assert all(outcome.option for outcome in report.outcomes if outcome.verdict is Verdict.SKIP)
    assert report.requests == len(run.calls.record.log)
    assert report.waited == pytest.approx(1.1)
    assert report.skew is not None
