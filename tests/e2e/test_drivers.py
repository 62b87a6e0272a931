"""Tests of scenarios that a browser's driver does not support.

Such a scenario must be skipped with a reason, but a missing browser must be reported first.
"""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from chatkey_e2e import fixtures
from chatkey_stack.browsers import NO_BROWSER
from chatkey_stack.lab import ServiceLab

pytest_plugins = ["pytester"]
LOADED = ("-p", "playwright", "-p", "chatkey_e2e.plugin", "-p", "no:cacheprovider", "--strict-markers")


def run(pytester: pytest.Pytester, mark: str, *args: str) -> pytest.RunResult:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.{mark}
        @pytest.mark.parametrize("number", range(2))
        def test_it(number, browser_name):
            pass
        """
    )
    return pytester.runpytest_inprocess(*LOADED, *args)


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CHATKEY_BROWSER", raising=False)


@pytest.mark.parametrize("mark", ["skip_browser('firefox'", "only_browser('chromium'"])
def test_tests_that_the_driver_does_not_support_are_skipped_and_counted_with_their_reason(
    pytester: pytest.Pytester, mark: str
) -> None:
    marked = f"{mark}, because='a CDP session is needed')"

    run(pytester, marked).assert_outcomes(passed=2)
    result = run(pytester, marked, "--browser", "firefox")

    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["chatkey: 2 skipped not in firefox: a CDP session is needed"])


def test_a_mark_without_a_reason_is_left_to_pytest_playwright(pytester: pytest.Pytester) -> None:
    result = run(pytester, "skip_browser('firefox')", "--browser", "firefox", "--browser", "chromium")

    result.assert_outcomes(passed=2, skipped=2)
    result.stdout.fnmatch_lines(["chatkey: 2 skipped skipped for this browser: firefox"])


def test_the_browser_of_the_environment_is_the_one_unless_an_option_names_another(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATKEY_BROWSER", "/usr/bin/firefox-esr")

    run(pytester, "skip_browser('firefox', because='x')").assert_outcomes(skipped=2)
    run(pytester, "skip_browser('firefox', because='x')", "--browser", "chromium").assert_outcomes(passed=2)


def test_a_reason_for_an_unknown_browser_is_an_error(pytester: pytest.Pytester) -> None:
    result = run(pytester, "skip_browser('chrome', because='x')")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*test_it?chromium-0?: skip_browser has the unknown browser 'chrome'; known are chromium, firefox, webkit"]
    )


def test_a_missing_browser_is_told_before_any_server_is_started(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(fixtures, "running", lambda *_, **__: started.append("a stack"))
    monkeypatch.setenv("CHATKEY_BROWSER", "/no/such/browser")
    pytester.makeconftest("from chatkey_e2e.overrides import *")
    pytester.makepyfile("def test_it(stack, page):\n    pass")

    result = pytester.runpytest_inprocess(*LOADED)

    assert result.ret == NO_BROWSER
    result.stdout.fnmatch_lines(["*'/no/such/browser', which is neither a file nor a command*"])
    assert started == []


def test_a_test_without_a_browser_does_not_need_one(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = SimpleNamespace(service_lab=ServiceLab("http://nobody.test", None))
    monkeypatch.setattr(fixtures, "running", lambda *_, **__: nullcontext(silent))
    monkeypatch.setattr(fixtures, "refresh", lambda: None)
    monkeypatch.setenv("CHATKEY_BROWSER", "/no/such/browser")
    pytester.makepyfile("def test_it(stack):\n    assert stack.service_lab")

    result = pytester.runpytest_inprocess(*LOADED)

    result.assert_outcomes(passed=1)
