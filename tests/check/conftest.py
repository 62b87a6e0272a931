"""Fixtures with endpoints for the checker to check."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from tests.check.mutants.mutant_backend import PROVIDER, SECRET, SESSIONS, Backend, Clock
from tests.check.mutants.mutant_server import Server

from chatkey_check.calls.shared import Calls
from chatkey_check.live.legs import Live
from chatkey_check.live.service import ReferenceServer
from chatkey_check.run import Run, opened
from chatkey_check.target import Login, Target
from chatkey_check.wire.http import HttpWire, Wire

MakeRun = Callable[..., Run]


@pytest.fixture(scope="session")
def endpoints() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    """A clock shared by endpoint and checker. Waiting on this clock takes no real time."""
    return Clock()


@pytest.fixture
def backend(clock: Clock) -> Backend:
    return Backend(clock)


@pytest.fixture
def base(endpoints: Server, backend: Backend) -> str:
    """The base address of a site whose endpoint has no faults."""
    return endpoints.add(f"honest-{id(backend)}", backend.handle)


@pytest.fixture
def url(base: str) -> str:
    return f"{base}/chat/token"


@pytest.fixture
def target(url: str) -> Target:
    """The target of an endpoint without faults, with its provider id, its secret and two logins."""
    ada, bo = (Login((("Cookie", f"sid={SESSIONS[name]}"),)) for name in ("ada", "bo"))
    return Target(url, PROVIDER, SECRET, login=ada, login_b=bo)


@pytest.fixture
def make_run(clock: Clock) -> Iterator[MakeRun]:
    with ExitStack() as ending:

        def make(
            target: Target, wire: Wire | None = None, live: Callable[[Calls, ReferenceServer], Live] = Live
        ) -> Run:
            wire = wire or HttpWire(target, now=clock.now, monotonic=clock.monotonic)
            run = opened(target, wire=wire, now=clock.now, sleep=clock.wait)
            return ending.enter_context(replace(run, live=live(run.calls, run.live.reference)))

        yield make


@pytest.fixture
def run(make_run: MakeRun, target: Target) -> Run:
    return make_run(target)


@pytest.fixture
def calls(run: Run) -> Calls:
    return run.calls
