"""Measures the duration of scenarios and of the starts of widgets. Runs on request and writes JSON."""

import json
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

BINDING = "__chatkey_started"

REPORT = """(() => {
  const report = window.BINDING;
  delete window.BINDING;
  document.addEventListener("service:ready", () => report(window.Service.debug().boot.milliseconds), { once: true });
})();""".replace("BINDING", BINDING)


@dataclass
class Figures:
    """Seconds of one run: in total, for starting servers and browsers, per scenario phase, and per widget start."""

    total: float = 0.0
    starting: float = 0.0
    scenarios: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    boots: list[float] = field(default_factory=list[float])


class Timings:
    """A pytest plugin that measures a run, and writes the figures to a file at the end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._figures = Figures()
        self._began = time.perf_counter()
        self._nested = 0

    def watch(self, context: BrowserContext) -> None:
        """Record the start time of every widget in the pages of a context."""
        context.expose_binding(BINDING, lambda _source, milliseconds: self._figures.boots.append(milliseconds / 1000))
        context.add_init_script(REPORT)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """Measure the setup of session fixtures. A nested fixture counts as part of the outer fixture."""
        if fixturedef.scope != "session":
            return (yield)
        self._nested += 1
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self._nested -= 1
            if not self._nested:
                self._figures.starting += time.perf_counter() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record how long a phase of a scenario took."""
        self._figures.scenarios.setdefault(report.nodeid, {})[report.when] = report.duration

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self._figures.total = time.perf_counter() - self._began
        self._file.write_text(json.dumps(asdict(self._figures)))
