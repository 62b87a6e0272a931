"""Tests of the rerun of failed tests. A flaky test must be listed. A test that always fails must fail the run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools import run_tests

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "xdist.plugin")
CHANCE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(12))
def test_honest(number):
    pass

def test_by_chance():
    seen = Path(__file__).with_name("seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError
"""
BROKEN = CHANCE + "\ndef test_broken():\n    assert False\n"
ALL_BROKEN = (
    "import pytest\n\n@pytest.mark.parametrize('number', range(11))\ndef test_broken(number):\n    assert False\n"
)


@pytest.fixture(autouse=True)
def _few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable installed plugins, so that pytest starts ten times faster here."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def flaky(tmp_path: Path) -> Path:
    """The path of the file that lists flaky tests."""
    return tmp_path / "flaky.txt"


def run(folder: Path, text: str, flaky: Path, *arguments: str) -> int:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(text)
    return run_tests.run([*PYTEST, *arguments, "-c", str(folder / "pytest.ini"), str(folder)], flaky)


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["one process", "two processes"])
def test_a_test_that_passes_alone_is_listed_and_the_run_passes(
    tmp_path: Path, flaky: Path, arguments: tuple[str, ...]
) -> None:
    assert run(tmp_path, CHANCE, flaky, *arguments) == 0

    assert run_tests.report(flaky).splitlines()[1:] == ["  test_it.py::test_by_chance"]


def test_with_many_failures_nothing_is_repeated(tmp_path: Path, flaky: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, ALL_BROKEN, flaky) == 1
    assert "once more" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("text", "arguments", "status"),
    [
        (CHANCE, ("-k", "nothing"), 5),
        (CHANCE, ("--no-such-option",), 4),
        ("import no_such_module\n", (), 2),
        (BROKEN, (), 1),
        ("def test_it(): pass\n", (), 0),
    ],
)
def test_the_exit_status_of_pytest_is_returned_and_nothing_is_listed(
    tmp_path: Path, flaky: Path, text: str, arguments: tuple[str, ...], status: int
) -> None:
    assert run(tmp_path, text, flaky, *arguments) == status
    assert run_tests.report(flaky) == "flaky: 0 tests failed at first and passed when run alone"
