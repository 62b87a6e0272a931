"""Fixtures that run the shipped server in a separate process and measure the server's CPU time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import pytest
from tests.hostile.cost import TIMES, Cost
from tests.refusals.kit.shipped import Service, serving
from tests.refusals.kit.shop import Shop

TRIES = 3
WORST = 10


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the hostile inputs that cost the server the most CPU time, even if they stayed within the limit."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    met = [(value, report.nodeid) for report in reports for name, value in report.user_properties if name == TIMES]
    if met:
        terminalreporter.section("hostile input, worst first")
    for times, nodeid in sorted(met, reverse=True)[:WORST]:
        terminalreporter.write_line(f"{times:5.1f} times a harmless one: {nodeid.rpartition('::')[2]}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that measure CPU time, except on Linux.

    Other systems do not report the CPU time of another process.
    """
    if not sys.platform.startswith("linux"):
        reason = pytest.mark.skip(reason="another process's processor time is read as Linux tells it")
        for item in items:
            if "cost" in getattr(item, "fixturenames", ()):
                item.add_marker(reason)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server without rate limits. The limits would also refuse the harmless inputs."""
    free = {
        f"LIMIT_{what}_PER_{of}": "0"
        for what, ofs in {
            "SEARCHES": ("IDENTITY", "ADDRESS"),
            "HISTORIES": ("IDENTITY", "ADDRESS"),
            "MESSAGES": ("IDENTITY", "ADDRESS", "PROVIDER"),
            "KILOBYTES": ("IDENTITY", "ADDRESS", "PROVIDER"),
        }.items()
        for of in ofs
    }
    with serving(tmp_path_factory.mktemp("hostile"), {**free, "LOG_LEVEL": "info"}) as made:
        yield made


@pytest.fixture(scope="session")
def shop(service: Service) -> Shop:
    return service.shop()


@pytest.fixture(scope="session")
def cost(service: Service) -> Cost:
    """Measure the server's CPU time with the clock of its process (clock_getcpuclockid(3))."""
    clock = ~service.process.pid << 3 | 2

    def spent(act: Callable[[], None]) -> float:
        times = []
        for _ in range(TRIES):
            before = time.clock_gettime(clock)
            act()
            times.append(time.clock_gettime(clock) - before)
        return min(times)

    return spent
