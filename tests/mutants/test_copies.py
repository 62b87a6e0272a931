"""Tests of how a mutant's test run ends: passed, failed or inconclusive."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from textwrap import dedent

import pytest
from tools.copies import Ended, run
from tools.mutants import Outcome, summary

pytestmark = pytest.mark.long

ENDINGS = {
    "passes": (Outcome.SURVIVED, "1 passed"),
    "fails": (Outcome.KILLED, "1 failed"),
    "dies": (Outcome.UNTESTED, "The test process died before the tests ended."),
    "is_not_there": (Outcome.UNTESTED, "no match in any of"),
}

TESTS = """
    import os
    import chatkey_widget

    def test_passes(): pass
    def test_fails(): assert False
    def test_dies(): os._exit(1)
    def test_hangs():
        while True: pass
"""


@pytest.mark.parametrize("name", ENDINGS)
def test_the_exit_status_of_a_test_gives_the_outcome_of_the_mutant(name: str, tmp_path: Path) -> None:
    outcome, said = ENDINGS[name]

    ended = _run(tmp_path, name)

    assert Outcome.of(ended.code) is outcome
    assert said in ended.output


def test_a_test_that_hangs_gives_no_outcome_and_prints_where_it_hangs(tmp_path: Path) -> None:
    ended = _run(tmp_path, "hangs", patience=3)

    assert Outcome.of(ended.code) is Outcome.UNTESTED
    assert "in test_hangs" in ended.output


def test_tests_that_do_not_import_the_copy_give_no_outcome(tmp_path: Path) -> None:
    ended = _run(tmp_path, "passes", package="another")

    assert Outcome.of(ended.code) is Outcome.UNTESTED
    assert "the tests did not run the copy" in ended.output


def test_the_last_line_counts_the_others_only_if_there_are_any() -> None:
    assert summary(Counter({Outcome.KILLED: 3})) == "3 killed, 0 survived"
    assert summary(Counter({Outcome.KILLED: 3, Outcome.UNTESTED: 1})) == "3 killed, 0 survived, 1 untested"


def _run(folder: Path, name: str, *, package: str = "chatkey_widget", patience: float = 60) -> Ended:
    """Run one of the tests for a component that contains only an empty package."""
    component = folder / "widget_sim"
    (component / package).mkdir(parents=True)
    (component / package / "__init__.py").touch()
    file = folder / "test_endings.py"
    file.write_text(dedent(TESTS))
    return run(component, [f"{file}::test_{name}"], patience)
