"""Tests of concurrent calls: how many run simultaneously, when one waits for another, and which are retried."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Event, Lock

import pytest
from tests.check.conftest import MakeRun

from chatkey_check.calls.lanes import MOST, MOST_AT_ONCE, Lanes
from chatkey_check.calls.memo import Memo, once
from chatkey_check.calls.shared import PARALLEL, Calls
from chatkey_check.checks import load_one
from chatkey_check.exchange import Broken, Exchange, Request, Response
from chatkey_check.model import Verdict
from chatkey_check.run import Run
from chatkey_check.running.runner import report_of
from chatkey_check.target import Target
from chatkey_check.wire.http import HttpWire
from chatkey_stack.patience import PATIENCE


@pytest.mark.parametrize(
    ("alone", "width"), [(0.0, MOST), (0.1, MOST), (0.6, MOST), (1.0, 5), (2.0, 2), (4.0, 1), (9.0, 1)]
)
def test_parallel_calls_are_limited_by_the_time_of_a_single_call(alone: float, width: int) -> None:
    lanes = Lanes()

    lanes.widen(alone, 10.0)

    assert lanes.width == width


def test_after_narrow_the_width_stays_1() -> None:
    lanes = Lanes()

    lanes.narrow()
    lanes.widen(0.1, 10.0)
    lanes.widen_further()

    assert lanes.width == 1


@pytest.mark.parametrize(("alone", "width"), [(0.6, MOST_AT_ONCE), (1.0, 5)])
def test_only_the_greatest_width_grows_further(alone: float, width: int) -> None:
    lanes = Lanes()

    lanes.widen(alone, 10.0)
    lanes.widen_further()

    assert lanes.width == width


class Timed(HttpWire):
    """Reports that a call takes half a second, and of calls sent together, each half a second longer than the last."""

    together = 0.5

    def send(self, request: Request) -> Exchange:
        return replace(super().send(request), seconds=0.5)

    def send_together(self, requests: Sequence[Request]) -> list[Exchange]:
        done = super().send_together(requests)
        return [replace(one, seconds=0.5 + place * self.together) for place, one in enumerate(done)]


@pytest.mark.parametrize(("together", "width"), [(0, MOST_AT_ONCE), (0.5, MOST)])
def test_more_calls_are_made_if_many_at_once_are_as_fast_as_one(
    make_run: MakeRun, target: Target, together: float, width: int
) -> None:
    wire = Timed(target)
    wire.together = together
    calls = make_run(target, wire).calls
    calls.lanes.widen(0.5, 10.0)

    assert len(calls.together) == PARALLEL
    assert calls.lanes.width == width


def test_a_measured_call_waits_for_those_under_way_and_holds_up_the_next() -> None:
    lanes, inside, leave, order = Lanes(), Event(), Event(), list[str]()
    lanes.widen(0.1, 10.0)

    def first() -> None:
        with lanes.one():
            inside.set()
            leave.wait(PATIENCE)
            order.append("first")

    def alone() -> None:
        with lanes.alone() as company:
            order.append("alone")
            assert not company.there

    with ThreadPoolExecutor(2) as pool:
        started = pool.submit(first)
        inside.wait(PATIENCE)
        waiting = pool.submit(alone)
        leave.set()
        started.result()
        waiting.result()

    assert order == ["first", "alone"]


def test_calls_made_at_the_same_time_know_of_each_other() -> None:
    lanes, both = Lanes(), Barrier(2, timeout=PATIENCE)
    lanes.widen(0.1, 10.0)

    def one() -> bool:
        with lanes.one() as company:
            both.wait()
            return company.there

    with ThreadPoolExecutor(2) as pool:
        found = [done.result() for done in [pool.submit(one), pool.submit(one)]]

    assert found == [True, True]


def test_a_shared_value_is_made_once_for_all_threads() -> None:
    class Owner:
        made = 0
        memo = Memo()

        @once
        def value(self) -> int:
            self.made += 1
            return self.made

    owner = Owner()
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda _: owner.value, range(64)))

    assert set(values) == {1}


class Crowded(Timed):
    """Counts the calls in progress. Answers with `failing` if there are several."""

    def __init__(self, target: Target, failing: Callable[[Request], Exchange] | None = None) -> None:
        super().__init__(target)
        self.failing = failing
        self.most = 0
        self._now_there = 0
        self._counting = Lock()

    def send(self, request: Request) -> Exchange:
        with self._counting:
            self._now_there += 1
            self.most = max(self.most, self._now_there)
        try:
            if self.failing is not None and self._now_there > 1:
                return self.failing(request)
            return super().send(request)
        finally:
            with self._counting:
                self._now_there -= 1


def judged(make_run: Callable[..., Run], target: Target, wire: Crowded) -> tuple[Calls, dict[str, str]]:
    run = make_run(target, wire)
    report = report_of(run)
    return run.calls, {outcome.check.id: f"{outcome.verdict} {outcome.message}" for outcome in report.outcomes}


def test_independent_calls_are_made_at_the_same_time(make_run: Callable[..., Run], target: Target) -> None:
    """The calls of two checks are sent only when both are in progress."""
    labels = {"the same call from another browser (another jkt)", "the call as a page of another site makes it"}
    both = Barrier(2, timeout=PATIENCE)

    class Meeting(Timed):
        def send(self, request: Request) -> Exchange:
            if request.label in labels:
                both.wait()
            return super().send(request)

    run = make_run(target, Meeting(target))
    assert run.calls.first.minted

    report = report_of(run, checks=[load_one("claim.uid-stable"), load_one("resp.cors")])

    assert [outcome.verdict for outcome in report.outcomes] == [Verdict.PASS, Verdict.PASS]


def test_a_run_makes_at_most_eight_calls_at_a_time(make_run: Callable[..., Run], target: Target) -> None:
    judged(make_run, target, wire := Crowded(target))

    assert wire.most <= MOST


@pytest.mark.parametrize("broken", [Broken.TIMEOUT, Broken.CUT])
def test_calls_that_fail_only_in_parallel_are_not_blamed_on_the_endpoint(
    make_run: Callable[..., Run], target: Target, broken: Broken
) -> None:
    wire = Crowded(target, lambda request: Exchange(request, None, broken, 0.0, 0.0))

    calls, found = judged(make_run, replace(target, login_b=None), wire)

    steady = found.pop("net.steady")
    assert all(verdict.startswith(("pass", "skip")) for verdict in found.values()), found
    assert calls.lanes.width == 1
    assert steady.startswith("pass") is (broken is Broken.TIMEOUT)


def test_a_session_that_is_replaced_meanwhile_asks_again(make_run: Callable[..., Run], target: Target) -> None:
    answers: list[Sequence[tuple[str, str]]] = [(), ()]

    class Overtaken(HttpWire):
        def send(self, request: Request) -> Exchange:
            if len(answers) == 2:
                calls.member.learn(Response(200, (("Set-Cookie", "sid=newer"),), b""), request.url)
            return Exchange(request, Response(200, tuple(answers.pop()), b"{}"), None, 0.0, 0.0)

    calls = make_run(target, Overtaken(target)).calls

    done = calls.ask("a call", calls.member)

    assert ("Cookie", "sid=newer") in done.request.headers
    assert len(calls.record.log) == 2


def test_while_a_call_waits_to_be_repeated_no_other_is_made(make_run: Callable[..., Run], target: Target) -> None:
    """While a call waits to be repeated, other calls could use up the endpoint's rate limit."""

    class Wide(Lanes):
        def narrow(self) -> None:
            """Never reduce the number of parallel calls, so that only the waiting call can block other calls."""

    class Limited(HttpWire):
        def send(self, request: Request) -> Exchange:
            asked.append(request.label)
            if request.label == "another":
                between.set()
            answer = Response(429, (("Retry-After", "1"),), b"") if len(asked) == 1 else Response(200, (), b"{}")
            return Exchange(request, answer, None, time.time(), 0.0)

    def let_another_try(_seconds: float, _why: str) -> None:
        pool.submit(calls.ask, "another", calls.member)
        assert not between.wait(0.2)

    asked, between = list[str](), Event()
    made = make_run(target, Limited(target)).calls
    calls = replace(made, lanes=Wide(), on_wait=let_another_try)
    calls.lanes.widen(0.1, 10.0)
    with ThreadPoolExecutor(1) as pool:
        assert calls.ask("limited", calls.member).status == 200

    assert asked == ["limited", "limited", "another"]


def test_two_runs_against_one_endpoint_have_the_same_verdicts(make_run: Callable[..., Run], target: Target) -> None:
    first, second = (report_of(make_run(target)) for _ in range(2))

    assert [(o.check.id, o.verdict) for o in first.outcomes] == [(o.check.id, o.verdict) for o in second.outcomes]
    assert first.requests == second.requests
