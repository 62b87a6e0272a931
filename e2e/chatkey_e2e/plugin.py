"""The pytest plugin with the hooks of the harness. It also loads `chatkey_e2e.fixtures`.

pytest-playwright provides browsers, contexts and pages, and saves traces. `chatkey_e2e.overrides` loads this plugin.
"""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from chatkey_conform.grades.business import HarnessError
from chatkey_conform.target import TargetError
from chatkey_conform.widget import describes_widget
from chatkey_e2e import drivers, keeping, knowledge, options, ours
from chatkey_e2e.aim import applicable
from chatkey_e2e.aim.aim import Aim, take_aim
from chatkey_e2e.aim.known import KnownFailures
from chatkey_e2e.aim.widget import WidgetAim, take_widget
from chatkey_e2e.annotations import Advance, MakeBusiness, MakeDriven, MakeFaults, MakePeer, NewContext, Restart, Watch
from chatkey_e2e.bounds import bounded
from chatkey_e2e.misbehaviour import missed, missed_by
from chatkey_e2e.results import Results
from chatkey_e2e.stashed import (
    aim_key,
    faults_key,
    folder_key,
    found_key,
    kept_key,
    known_key,
    marks_key,
    timings_key,
    widget_key,
)
from chatkey_e2e.timings import Timings
from chatkey_e2e.witness import witness_key
from chatkey_peer.exits import Exit
from chatkey_peer.redaction import redact_folder
from chatkey_stack import browsers
from chatkey_stack.lab import ServiceLab

__all__ = ["Advance", "MakeBusiness", "MakeDriven", "MakeFaults", "MakePeer", "NewContext", "Restart", "Watch"]
"""Type names for annotating the arguments of your tests."""

pytest_plugins = ["chatkey_e2e.fixtures"]

ALLOWED = 2
"""Smoke scenarios of a widget that may fail. A widget without one of the modes is still judged."""

PLAYWRIGHTS_OWN = "ignore:Session-scoped fixtures defined as instance methods:pytest.PytestRemovedIn10Warning"
"""The fixture `base_url` of pytest-playwright 0.10 is one, for which pytest 9.2 warns."""

SYNCHRONOUS = ("playwright", "pytest_playwright.pytest_playwright")
"""The names under which pytest-playwright may be loaded."""


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, use CHATKEY_BROWSER as the default of `--browser`, and register the plugins of this run.

    Raises `pytest.UsageError` if pytest-playwright is not loaded.
    """
    if not any(config.pluginmanager.has_plugin(name) for name in SYNCHRONOUS):
        raise pytest.UsageError(
            "chatkey_e2e needs pytest-playwright, which is disabled. If pytest-playwright-asyncio is installed too, "
            "disable that plugin with `-p no:playwright-asyncio`: the harness uses Playwright's synchronous API."
        )
    config.addinivalue_line("filterwarnings", PLAYWRIGHTS_OWN)
    config.addinivalue_line("markers", "contract(*ids): the entries of docs/contract.toml that this test verifies")
    config.addinivalue_line(
        "markers", "needs(*capabilities): the capabilities that the tested service must have for this test"
    )
    config.addinivalue_line("markers", "smoke: runs first against a target; if it fails, the run stops")
    config.addinivalue_line("markers", "any_widget: this test also works with other widgets, which lack our handle")
    config.stash[kept_key] = keeping.Kept(config)
    config.pluginmanager.register(config.stash[kept_key])
    if not config.option.browser and (named := os.environ.get("CHATKEY_BROWSER")):
        config.option.browser = [browsers.kind_of(named)]
    if target := options.read(config).target:
        _aim_at(config, target)
        config.stash[known_key] = KnownFailures(_aim(config).known)
        config.pluginmanager.register(applicable.Smoke(ALLOWED if widget_key in config.stash else 0))
    if file := options.read(config).results:
        config.pluginmanager.register(Results(file))
    if file := options.read(config).timings:
        config.stash[timings_key] = Timings(file)
        config.pluginmanager.register(config.stash[timings_key])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests that use the stack a browser that trusts the stack's CA. All other tests keep their browser."""
    if ours.TRUST in metafunc.fixturenames and ours.uses_stack(metafunc.definition, metafunc.fixturenames):
        metafunc.parametrize(ours.TRUST, [True], ids=[pytest.HIDDEN_PARAM], indirect=True, scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests that do not fit the browser or the target, with the reason.

    This hook runs before pytest sorts the tests by their parameters, so that tests with the same browser follow each
    other.
    """
    for item in items:
        ours.trusting(item)
    drivers.leave_out(items)
    if options.read(config).target:
        applicable.leave_out(items, _aim(config).have)
        config.stash[known_key].excuse(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Save a trace of a failed test that uses the harness, and bound its calls. Other tests keep their options."""
    if not ours.uses_stack(item, getattr(item, "fixturenames", ())):
        return (yield)
    with keeping.on_failure(item.config), bounded(options.read(item.config).step):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """If an asynchronous test uses the harness, fail the test before its fixtures are set up."""
    ours.refuse_asynchronous(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that armed a fault which was never triggered, because the test has not tested this fault."""
    result = yield
    if sentences := "\n".join((*missed(item.stash.get(faults_key, [])), *missed_by(_service_lab(item)))):
        pytest.fail(sentences, pytrace=False)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Disarm all faults of the service before the next test."""
    if lab := _service_lab(item):
        lab.disarm()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the servers' output and the logins to a failed test's report, and redact the secrets in every report."""
    failure = _failure(item, call)
    if failure:
        knowledge.explain_loop(failure.value)
    witness = item.stash.get(witness_key, None)
    if witness is None:
        return (yield)
    if failure:
        keeping.end_outside_playwright(failure.tb)
        knowledge.explain(failure.value, witness.pages, witness.requests, witness.settings)
    report = yield
    secrets = item.config.stash[kept_key].secrets | witness.hidden
    folder = item.stash.get(folder_key, None)
    if report.failed:
        has_lab = marks_key in item.stash and call.when != "teardown"  # the last teardown also ends the servers
        logins = item.stash[marks_key].timelines() if has_lab else ()
        keeping.tell(item, report, folder, servers=witness.output().items(), logins=logins)
    keeping.redact_report(report, secrets)
    if folder and report.when == "teardown":
        redact_folder(folder, secrets)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the browsers of the run, the reasons for skipped tests, and how to inspect a failure."""
    for line in drivers.counted(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(f"chatkey: {line}")
    if options.read(config).target:
        terminalreporter.write_line(f"chatkey: {applicable.verdict(terminalreporter.stats, _aim(config).name)}")
        for name in config.stash[known_key].mended(terminalreporter.stats):
            terminalreporter.write_line(f"chatkey: known failure {name} passes now: remove it from the file")
    for found in config.stash.get(found_key, {}).values():
        terminalreporter.write_line(f"chatkey: used {found}")
    if terminalreporter.stats.keys() & {"failed", "error"} and (traces := config.stash[kept_key].traces):
        terminalreporter.write_line(f"chatkey: show the trace with: {keeping.SHOW_TRACE} {traces[-1]}")


def _aim_at(config: pytest.Config, file: Path) -> None:
    """Read a TARGET.toml or a widget.toml. Ends the run if the file cannot be used."""
    try:
        if describes_widget(file):
            config.stash[widget_key] = take_widget(file)
        else:
            config.stash[aim_key] = _aimed_at(config, file)
    except (TargetError, HarnessError) as error:
        pytest.exit(f"The target cannot be used: {error}", returncode=Exit.NOT_STARTED)


def _aim(config: pytest.Config) -> Aim | WidgetAim:
    """Return the service or the widget that this run judges."""
    return config.stash[widget_key] if widget_key in config.stash else config.stash[aim_key]


def _aimed_at(config: pytest.Config, file: Path) -> Aim:
    if set(config.option.browser or ["chromium"]) != {"chromium"}:
        raise pytest.UsageError(
            "Only Chromium can be used with a target: other browsers cannot be redirected to the front."
        )
    return take_aim(file)


def _failure(item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.ExceptionInfo[BaseException] | None:
    """Return the error of a phase. pytest keeps the errors of a `unittest.TestCase` aside until it makes the report."""
    return call.excinfo or next(iter(getattr(item, "_excinfo", None) or ()), None)


def _service_lab(item: pytest.Item) -> ServiceLab | None:
    return getattr(getattr(item, "funcargs", {}).get("stack"), "service_lab", None)
