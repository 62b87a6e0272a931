"""Endpoints to check come from the mutants' folder, which has an honest one, too."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "mutants"))

from chatkey_e2e.gettoken.calls.shared import Calls
from chatkey_e2e.gettoken.target import Login, Target
from chatkey_e2e.gettoken.wire.http import HttpWire
from mutant_backend import PROVIDER, SECRET, SESSIONS, Backend, Clock
from mutant_server import Server

MakeCalls = Callable[..., Calls]


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
def make_calls(clock: Clock) -> Iterator[MakeCalls]:
    """Make calls by that clock."""
    made: list[Calls] = []

    def make(target: Target) -> Calls:
        wire = HttpWire(target, now=clock.now, monotonic=clock.monotonic)
        made.append(Calls(target, wire=wire, now=clock.now, sleep=clock.sleep))
        return made[-1]

    yield make
    for calls in made:
        calls.ending.close()


@pytest.fixture
def calls(make_calls: MakeCalls, target: Target) -> Calls:
    """Calls of an honest endpoint."""
    return make_calls(target)
