"""Tests that the lists of mutants match the code of server and widget."""

from __future__ import annotations

import faulthandler
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import click
import pytest
from tools.mutants import COMPONENTS, ROOT, Mutant, MutantError, mutants, outcomes

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_place_is_there_once_and_what_replaces_it_is_python(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()

    assert mutant.of(text) != text


def test_every_mutant_is_killed_by_a_test_that_exists() -> None:
    tests = sorted({mutant.killed_by for mutant in MUTANTS})
    collect = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *tests]

    collected = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True, check=False)

    assert collected.returncode == pytest.ExitCode.OK, collected.stderr


def test_killed_by_names_the_row_of_a_table_of_verdicts() -> None:
    assert [mutant.name for mutant in MUTANTS if re.search(r"_verdicts\.py::\w+$", mutant.killed_by)] == []


def test_there_are_enough_mutants_and_no_duplicates() -> None:
    of_each = Counter(mutant.component for mutant in MUTANTS)

    assert of_each.keys() == set(COMPONENTS)
    assert min(of_each.values()) >= 40
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("text", ["", "f(x)\nf(x)", "f(x) = 1"])
def test_a_mutant_that_does_not_fit_is_refused(text: str) -> None:
    mutant = Mutant("file.py", "name", "f(x)", "f(y)", "test")

    with pytest.raises(MutantError, match=r"'name'.* (in file\.py [02] times|not valid Python)"):
        mutant.of(text)


def test_the_settings_of_mutmut_name_what_is_there() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]

    for pattern in settings["only_mutate"]:
        package = pattern.removeprefix("src/").removesuffix("/*")
        assert any((ROOT / component / package).is_dir() for component in COMPONENTS)
    assert all((ROOT / path).exists() for path in settings["pytest_add_cli_args_test_selection"])


TESTS = """
from pathlib import Path

import chatkey_widget

def test_sees(): assert "a pure state machine" in Path(chatkey_widget.__file__).read_text()
def test_blind(): pass
def test_fails(): assert False
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "test", "outcome"),
    [("pure", "sees", "killed"), ("pure", "blind", "survived"), ("not there", "blind", "untested")],
)
def test_the_outcome_of_a_mutant_depends_on_its_test(tmp_path: Path, old: str, test: str, outcome: str) -> None:
    mutant = _mutant(tmp_path, old, test)

    assert list(outcomes([mutant], tmp_path)) == [outcome]


@pytest.mark.long
def test_a_test_that_always_fails_proves_nothing(tmp_path: Path) -> None:
    mutant = _mutant(tmp_path, "pure", "fails")

    with pytest.raises(click.ClickException, match="Without a mutant, the tests do not pass"):
        list(outcomes([mutant], tmp_path))


def _mutant(folder: Path, old: str, test: str) -> Mutant:
    faulthandler.cancel_dump_traceback_later()  # a forked process would wait for pytest's timer
    file = folder / "test_it.py"
    file.write_text(TESTS)
    return Mutant("widget_sim/chatkey_widget/__init__.py", "name", old, "mutated", f"{file}::test_{test}")
