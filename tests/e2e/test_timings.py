"""Tests of the timings of a run: the phases of each scenario, and the start of servers and widgets."""

import json
from collections.abc import Callable
from typing import cast

import pytest
from playwright.sync_api import BrowserContext

from chatkey_e2e import timings

pytest_plugins = ["pytester"]

TESTS = """
import pytest
import time

@pytest.fixture(scope="session")
def server(request):
    request.getfixturevalue("certificate")

@pytest.fixture(scope="session")
def certificate():
    time.sleep(0.02)

def test_one(server):
    time.sleep(0.01)

def test_two(server):
    pass
"""


class Context:
    """A fake browser context through which a test reports times as a page would."""

    def expose_binding(self, name: str, told: Callable[[object, float], None]) -> None:
        self.told = told

    def add_init_script(self, script: str) -> None:
        self.script = script


@pytest.fixture
def figures(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> timings.Figures:
    """The timings of a run with two tests and a server."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_it=TESTS)
    loaded = ("-p", "playwright", "-p", "chatkey_e2e.plugin")
    pytester.runpytest_inprocess(*loaded, "--chatkey-timings", "times.json").assert_outcomes(passed=2)
    return timings.Figures(**json.loads((pytester.path / "times.json").read_text()))


def test_each_phase_of_each_scenario_is_measured(figures: timings.Figures) -> None:
    assert {name: set(phases) for name, phases in figures.scenarios.items()} == {
        "test_it.py::test_one": {"setup", "call", "teardown"},
        "test_it.py::test_two": {"setup", "call", "teardown"},
    }
    assert figures.scenarios["test_it.py::test_one"]["call"] >= 0.01


def test_a_shared_start_is_measured_once(figures: timings.Figures) -> None:
    assert figures.starting >= 0.02
    assert figures.starting <= figures.scenarios["test_it.py::test_one"]["setup"] <= figures.total


def test_each_page_reports_the_start_of_its_widget_in_milliseconds(pytester: pytest.Pytester) -> None:
    measured, context = timings.Timings(pytester.path / "times.json"), Context()

    measured.watch(cast("BrowserContext", context))
    context.told({}, 480)
    measured.pytest_unconfigure()

    assert timings.BINDING in context.script
    assert json.loads((pytester.path / "times.json").read_text())["boots"] == [0.48]
