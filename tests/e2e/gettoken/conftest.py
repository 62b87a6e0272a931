"""Endpoints to check come from the mutants' folder, which has an honest one, too."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from chatkey_e2e.gettoken.calls.shared import Calls
from chatkey_e2e.gettoken.live.legs import Live
from chatkey_e2e.gettoken.run import Run
from chatkey_e2e.gettoken.target import Login, Target
from chatkey_e2e.gettoken.wire.http import HttpWire
from mutant_backend import PROVIDER, SECRET, SESSIONS, Backend, Clock
from mutant_server import Server

MakeRun = Callable[..., Run]


@pytest.fixture(scope="session")
def endpoints() -> Iterator[Server]:
    """A server with nothing on it yet."""
    with Server() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    """The time of endpoint and checker, which no wait holds up."""
    return Clock()


@pytest.fixture
def backend(clock: Clock) -> Backend:
    """An honest endpoint."""
    return Backend(clock)


@pytest.fixture
def base(endpoints: Server, backend: Backend) -> str:
    """The address below which a site with an honest endpoint is."""
    return endpoints.add(f"honest-{id(backend)}", backend.handle)


@pytest.fixture
def url(base: str) -> str:
    """The address of an honest endpoint."""
    return f"{base}/chat/token"


@pytest.fixture
def target(url: str) -> Target:
    """An honest endpoint with all that is known about it."""
    ada, bo = (Login((("Cookie", f"sid={SESSIONS[name]}"),)) for name in ("ada", "bo"))
    return Target(url, PROVIDER, SECRET, login=ada, login_b=bo)


@pytest.fixture
def make_run(clock: Clock) -> Iterator[MakeRun]:
    """Open runs by that clock."""
    with ExitStack() as ending:

        def make(target: Target, live: Callable[[Calls], Live] = Live) -> Run:
            wire = HttpWire(target, now=clock.now, monotonic=clock.monotonic)
            calls = Calls(target, wire, now=clock.now, sleep=clock.sleep)
            return ending.enter_context(Run(calls, live(calls)))

        yield make


@pytest.fixture
def run(make_run: MakeRun, target: Target) -> Run:
    """A run of an honest endpoint."""
    return make_run(target)


@pytest.fixture
def calls(run: Run) -> Calls:
    """Calls of an honest endpoint."""
    return run.calls
