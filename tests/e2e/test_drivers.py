"""What a browser's driver cannot do is skipped with its reason, and counted; a missing browser is told first."""

from contextlib import nullcontext

import pytest

from chatkey_e2e import plugin
from chatkey_stack.browsers import NO_BROWSER

pytest_plugins = ["pytester"]


def run(pytester: pytest.Pytester, mark: str, browser: str = "firefox", *args: str) -> pytest.RunResult:
    """Run two tests with this mark, in this browser."""
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.only_on({mark})
        @pytest.mark.parametrize("number", range(2))
        def test_it(number):
            pass
        """
    )
    plugin = ("-p", "chatkey_e2e.plugin", "-p", "no:cacheprovider", "--strict-markers")
    return pytester.runpytest_inprocess(*plugin, "--chatkey-browser", browser, *args)


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CHATKEY_BROWSER", raising=False)


def test_what_the_driver_cannot_do_is_left_out_with_its_reason_and_counted(pytester: pytest.Pytester) -> None:
    result = run(pytester, '"chromium", "webkit", because="a CDP session is needed"')

    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["chatkey: 2 skipped only on chromium and webkit: a CDP session is needed"])


@pytest.mark.parametrize("browser", ["chromium", "/opt/chrome/chrome"])
def test_what_the_driver_can_do_runs(pytester: pytest.Pytester, browser: str) -> None:
    result = run(pytester, '"chromium", because="a CDP session is needed"', browser)

    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*skipped*")


def test_the_browser_of_the_environment_counts_too(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATKEY_BROWSER", "/usr/bin/firefox-esr")

    result = run(pytester, '"chromium", because="a CDP session is needed"', "")

    result.assert_outcomes(skipped=2)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('"chromium"', 'only_on needs one reason, because="…"'),
        ('"chromium", because=" "', 'only_on needs one reason, because="…"'),
        ('"chromium", reason="x"', 'only_on needs one reason, because="…"'),
        ('"chrome", because="x"', "only_on names the unknown 'chrome'; browsers are chromium, firefox, webkit"),
        ('because="x"', "only_on names nothing; browsers are chromium, firefox, webkit"),
    ],
)
def test_a_mark_without_a_reason_or_a_known_browser_is_an_error(
    pytester: pytest.Pytester, mark: str, said: str
) -> None:
    result = run(pytester, mark, "chromium")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*test_it?0?: {said}"])


def test_a_missing_browser_is_told_before_any_server_is_started(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(plugin, "running", lambda *_, **__: started.append("a stack"))
    pytester.makepyfile("def test_it(stack, page):\n    pass")

    result = pytester.runpytest_inprocess("-p", "chatkey_e2e.plugin", "--chatkey-browser", "/no/such/browser")

    assert result.ret == NO_BROWSER
    result.stdout.fnmatch_lines(["*'/no/such/browser', which is neither a file nor a command*"])
    assert started == []


def test_who_needs_no_browser_is_not_asked_for_one(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "running", lambda *_, **__: nullcontext("a stack"))
    monkeypatch.setattr(plugin, "refresh", lambda: None)
    pytester.makepyfile("def test_it(stack):\n    assert stack == 'a stack'")

    result = pytester.runpytest_inprocess("-p", "chatkey_e2e.plugin", "--chatkey-browser", "/no/such/browser")

    result.assert_outcomes(passed=1)
