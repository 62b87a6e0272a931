"""Tests of the command `chatkey e2e`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from chatkey_e2e.cli import SCENARIOS, e2e
from chatkey_stack.browsers import NO_BROWSER

WHERE = ["-c", str(SCENARIOS / "pytest.ini"), "--rootdir", str(SCENARIOS), str(SCENARIOS)]
WHERE += ["-o", f"cache_dir={Path.cwd() / '.pytest_cache'}"]


@pytest.mark.parametrize(
    ("asked", "passed_on"),
    [
        ([], []),
        (["-k", "logout"], ["-k", "logout"]),
        (["--list"], ["--collect-only", "-q"]),
        (["--headed", "--slowmo", "50"], ["--headed", "--slowmo", "50"]),
        (["--browser", "firefox"], ["--browser", "firefox"]),
        (["--browser", "firefox", "--browser=webkit"], ["--browser", "firefox", "--browser", "webkit"]),
        (["--patience", "60"], ["--chatkey-patience", "60.0"]),
        (["--tracing", "on", "--output=kept"], ["--tracing", "on", "--output=kept"]),
        (["-x", "-n", "2", "--durations=3"], ["-x", "-n", "2", "--durations=3"]),
    ],
    ids=lambda value: " ".join(value) or "nothing",
)
def test_options_are_passed_to_pytest_and_its_status_is_returned(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], passed_on: list[str]
) -> None:
    calls: list[list[str]] = []

    def run(args: list[str]) -> int:
        calls.append(args)
        return 5

    monkeypatch.setattr(pytest, "main", run)

    result = CliRunner().invoke(e2e, asked)

    assert calls == [[*WHERE, *passed_on]]
    assert result.exit_code == 5


@pytest.mark.parametrize("given", [["-p", "no:cacheprovider"], ["-pno:cacheprovider"]], ids=" ".join)
def test_without_the_cache_plugin_pytest_gets_no_cache_folder(
    monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    """Without the plugin, pytest does not know the setting `cache_dir`, and would refuse to run."""
    calls: list[list[str]] = []
    monkeypatch.setattr(pytest, "main", calls.append)

    CliRunner().invoke(e2e, given)

    assert calls == [[*WHERE[:-2], *given]]


def test_the_path_of_a_browser_is_set_as_chatkey_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-playwright's `--browser` only accepts kinds of browsers, so `chatkey e2e` puts a path into
    CHATKEY_BROWSER.
    """
    monkeypatch.setenv("CHATKEY_BROWSER", "firefox")
    monkeypatch.setattr(pytest, "main", lambda args: 0 if "--browser" not in args else 1)

    result = CliRunner().invoke(e2e, ["--browser", "/usr/bin/chromium"])

    assert (result.exit_code, os.environ["CHATKEY_BROWSER"]) == (0, "/usr/bin/chromium")


ASKED_TO_END = """
import os, pathlib, signal

def pytest_collection_finish(): os.kill(os.getpid(), signal.SIGTERM)

def pytest_unconfigure(): pathlib.Path("ended in order").touch()
"""


@pytest.mark.long
def test_a_run_that_is_asked_to_end_ends_what_it_has_started(tmp_path: Path) -> None:
    (tmp_path / "asked_to_end.py").write_text(ASKED_TO_END)
    run = "from chatkey_e2e.cli import e2e; e2e()"
    command = [sys.executable, "-c", run, "-k", "cleared_key", "-p", "asked_to_end"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert (tmp_path / "ended in order").exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("browser", "said"),
    [
        ("/no/such/browser", "CHATKEY_BROWSER is '/no/such/browser', which is neither a file nor a command"),
        ("webkit", "No WebKit was found. Install one: `chatkey browser --install webkit`."),
    ],
)
def test_without_a_browser_it_says_what_to_do_anywhere_and_installs_none(
    tmp_path: Path, browser: str, said: str
) -> None:
    run = "from chatkey_e2e.cli import e2e; e2e()"
    command = [sys.executable, "-c", run, "-k", "cleared_key", "--browser", browser]
    environ = {**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}

    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)

    assert done.returncode == NO_BROWSER
    assert said in done.stdout
    assert [path.name for path in tmp_path.iterdir() if path.name != ".pytest_cache"] == []
