"""Tests of the pytest plugin together with pytest-playwright: contexts, browsers, and how a project loads it."""

import pytest
from tests.e2e.stand_ins import LOADED, run

from chatkey_peer.exits import Exit

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.long


def test_a_test_without_our_fixtures_is_left_unchanged(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        from playwright.sync_api import expect

        def test_theirs(context, browser):
            assert browser.trusts is None
            assert (context.options, hasattr(context, "cookies"), hasattr(context, "timeout")) == ({}, False, False)
            assert expect._timeout is None

        def test_ours(context, browser, stack):
            assert browser.trusts
            assert context.options == {"reduced_motion": "reduce"}
            assert (len(context.cookies), context.timeout) == (1, 7000)
            assert expect._timeout == 7000

        def test_theirs_again(context, browser):
            assert browser.trusts is None
            assert expect._timeout is None
        """,
        "--chatkey-patience=7",
    )

    result.assert_outcomes(passed=3)


def test_the_inspector_waits_without_a_timeout(harness: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWDEBUG", "1")
    code = """
        from playwright.sync_api import expect

        def test_it(context, stack):
            assert (context.timeout, expect._timeout) == (0, 0)
    """

    run(harness, code, "--chatkey-patience=7").assert_outcomes(passed=1)


def test_options_of_a_test_for_its_context_override_ours(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        def test_an_argument(new_context, stack):
            assert new_context(reduced_motion="no-preference").options == {"reduced_motion": "no-preference"}

        @pytest.mark.browser_context_args(reduced_motion="no-preference", locale="de")
        def test_a_mark(new_context, stack):
            assert new_context().options == {"reduced_motion": "no-preference", "locale": "de"}

        @pytest.mark.parametrize("browser_type_launch_args", [{"ignore_default_args": ["--x"]}], indirect=True)
        def test_a_browser_of_its_own(new_context, browser_type_launch_args, stack):
            assert new_context().options == {}
            assert browser_type_launch_args["ignore_default_args"] == ["--x"]
        """,
    )

    result.assert_outcomes(passed=3)


def test_an_argument_that_the_project_sets_already_is_named(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        @pytest.fixture(scope="session")
        def browser_context_args(browser_context_args):
            return {**browser_context_args, "locale": "de-DE"}

        def test_twice(new_context, stack):
            new_context(locale="fr")

        @pytest.mark.browser_context_args(locale="fr")
        def test_a_mark(new_context, stack):
            assert new_context().options["locale"] == "fr"
        """,
    )

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["new_context(locale='fr'): the fixture browser_context_args*browser_context_args(locale*"]
    )


def test_firefox_ignores_certificate_errors_also_if_the_test_asks_for_it(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(new_context, browser_name, stack):
            wanted = {"reduced_motion": "reduce"}
            if browser_name == "firefox":
                wanted["ignore_https_errors"] = True
            assert new_context().options == wanted
            assert new_context(ignore_https_errors=True).options == {**wanted, "ignore_https_errors": True}
        """,
        *("--browser", "firefox", "--browser", "chromium", "-v"),
    )

    result.assert_outcomes(passed=2)
    result.stdout.re_match_lines_random([r".*test_it\[firefox\] PASSED", r".*test_it\[chromium\] PASSED"])


def test_the_arguments_of_a_further_browser_are_added_to_ours(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        @pytest.fixture(scope="session")
        def browser_type():
            class Type:
                def launch(self, **options):
                    return options

            return Type()

        def test_it(launch_browser, browser_type_launch_args, stack):
            ours = browser_type_launch_args["args"]
            assert any(argument.startswith("--ignore-certificate-errors-spki-list=") for argument in ours)
            launched = launch_browser(args=["--mine"], headless=False)
            assert (launched["args"], launched["headless"]) == ([*ours, "--mine"], False)
            assert launch_browser(channel="chrome")["executable_path"] is None
        """,
    )

    result.assert_outcomes(passed=1)


def test_the_patience_governs_the_start_of_the_servers(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest("from chatkey_e2e.overrides import *")
    pytester.makepyfile("def test_it(stack):\n    pass")

    result = pytester.runpytest_subprocess(*LOADED, "--chatkey-patience", "0.05")

    assert result.ret == Exit.NOT_STARTED
    result.stdout.fnmatch_lines(
        ["*The stack could not start: service *within 0.05 s*the load of this machine*--chatkey-patience 0.1 in*"]
    )


@pytest.mark.parametrize("first", ["", "from chatkey_e2e.plugin import Advance\n"], ids=["first", "second"])
@pytest.mark.parametrize("folder", [".", "chat"])
@pytest.mark.parametrize(
    "setting", ["filterwarnings = error", "addopts = -p chatkey_e2e.plugin"], ids=["import", "option"]
)
def test_a_conftest_in_any_folder_loads_the_harness(
    harness: pytest.Pytester, first: str, folder: str, setting: str
) -> None:
    (harness.path / folder).mkdir(exist_ok=True)
    conftest = (harness.path / "conftest.py").rename(harness.path / folder / "conftest.py")
    conftest.write_text(first + conftest.read_text())
    (harness.path / folder / "test_it.py").write_text("def test_it(stack, browser):\n    assert browser.trusts")
    harness.makeini(f"[pytest]\n{setting}")

    result = harness.runpytest_subprocess(*LOADED)

    result.assert_outcomes(passed=1)


def test_without_pytest_playwright_the_line_to_type_is_told(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from chatkey_e2e.overrides import *")

    result = pytester.runpytest_subprocess("-p", "no:playwright")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*needs pytest-playwright, which is disabled.*no:playwright-asyncio*"])
