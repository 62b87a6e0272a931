"""Tests of known failures of scenarios. An excused failure must not count, and an unexpected pass must be reported."""

from pathlib import Path

import pytest
from tests.e2e.aim.test_aim import TARGET

from chatkey_conform.target import TargetError
from chatkey_e2e.aim.aim import take_aim

pytest_plugins = ["pytester"]

CONFTEST = """
from chatkey_e2e.aim.applicable import Smoke
from chatkey_e2e.aim.known import KnownFailures

KNOWN = KnownFailures({"test_red": "the vendor knows", "1/late": "sometimes", "1/mended": "it was late"})

def pytest_configure(config):
    config.pluginmanager.register(Smoke())

def pytest_collection_modifyitems(items):
    KNOWN.excuse(items)

def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"mended: {KNOWN.mended(terminalreporter.stats)}")
"""
SCENARIOS = """
import pytest

@pytest.mark.smoke
@pytest.mark.parametrize("one", [1, 2])
def test_red(one):
    assert one == 2

@pytest.mark.contract("1/late", "1/always")
@pytest.mark.parametrize("one", [1, 2])
def test_late(one):
    assert one == 2

@pytest.mark.contract("1/mended")
def test_green():
    pass
"""


def test_known_failures_are_expected_even_in_the_smoke_test_and_needless_entries_are_reported(
    pytester: pytest.Pytester,
) -> None:
    """The file excuses failures by the name of a scenario or by a sentence of the contract.

    One of the two variants passes.
    """
    pytester.makeini(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\nxfail_strict = true\nmarkers = smoke\n contract"
    )
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SCENARIOS)

    run = pytester.runpytest("-ra")

    run.assert_outcomes(xfailed=2, xpassed=3)
    run.stdout.fnmatch_lines(["XFAIL *test_red[[]1] - known failure: the vendor knows*"])
    run.stdout.fnmatch_lines(["mended: ['1/mended']"])
    assert run.ret == 0


def test_the_file_is_read_in_the_same_way_as_by_conform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_1", "s" * 32)
    path, known = tmp_path / "TARGET.toml", tmp_path / "known.txt"
    path.write_text(f'{TARGET}\n[known_failures]\nfile = "known.txt"\n')
    known.write_text("3/logout: our button is elsewhere\n")

    assert take_aim(path).known == {"3/logout": "our button is elsewhere"}

    known.write_text("3/logout:\n")
    with pytest.raises(TargetError, match="write the id, a colon and the reason"):
        take_aim(path)
