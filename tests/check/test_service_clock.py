"""Tests that times are judged by the clock of `--service-url`, which accepts or refuses the tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import pytest
from tests.check.conftest import MakeRun
from tests.check.mutants.mutant_backend import Backend, Clock
from tests.check.mutants.mutant_server import Answer, Request, Server

from chatkey_check.model import Report, Verdict
from chatkey_check.running.runner import Selection, report_of
from chatkey_check.target import LiveOptions, Target

TIMES = Selection(only=["net.clock", "claim.iat", "claim.exp-*", "claim.lifetime", "claim.fresh"])


class Judged(Protocol):
    def __call__(self, endpoint: float, service: float, *, dated: bool = True) -> Report: ...


class Ahead(Clock):
    """A clock that is some seconds ahead of another one."""

    def __init__(self, clock: Clock, ahead: float) -> None:
        super().__init__()
        self._clock = clock
        self._ahead = ahead

    def now(self) -> float:
        return self._clock.now() + self._ahead


@pytest.fixture
def judged(endpoints: Server, target: Target, make_run: MakeRun, clock: Clock) -> Judged:
    """Judge an endpoint and a service whose clocks are so many seconds ahead of the checker's."""

    def judge(endpoint: float, service: float, *, dated: bool = True) -> Report:
        backend, theirs = Backend(Ahead(clock, endpoint)), Ahead(clock, service)
        if not dated:
            backend.dated = lambda answer: answer  # type: ignore[method-assign]

        async def health(_request: Request) -> Answer:
            return Answer(200, date=theirs.now())

        base = endpoints.add(f"clock-{id(backend)}", backend.handle)
        service_url = endpoints.add(f"service-{id(backend)}", health)
        live = LiveOptions(service_url=service_url)
        run = make_run(replace(target, url=f"{base}/chat/token", live=live))
        return report_of(run, selection=TIMES)

    return judge


def found(report: Report) -> dict[str, Verdict]:
    left_out = {Verdict.PASS, Verdict.SKIP}
    return {outcome.check.id: outcome.verdict for outcome in report.outcomes if outcome.verdict not in left_out}


@pytest.mark.parametrize("dated", [True, False])
@pytest.mark.parametrize("off", [-3600, -600, -120, 600])
def test_a_wrong_clock_of_the_checker_is_not_blamed_on_the_endpoint(judged: Judged, off: float, dated: bool) -> None:
    assert found(judged(off, off, dated=dated)) == {}


@pytest.mark.parametrize("off", [-3720, -600, 600])
def test_an_endpoint_whose_clock_differs_from_the_services_fails(judged: Judged, off: float) -> None:
    assert found(judged(off, 0))["net.clock"] is Verdict.FAIL


def test_an_endpoint_that_is_right_only_by_the_checkers_clock_fails(judged: Judged) -> None:
    report = judged(0, 600)

    assert report.of("net.clock").message == "The server's clock is 10 minutes behind the service's clock."
    assert found(report)["net.clock"] is Verdict.FAIL
