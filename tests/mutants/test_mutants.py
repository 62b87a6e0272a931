"""Tests that the lists of mutants match the code of server and widget, whatever the private names in the code are."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from ast_grep_py import SgRoot
from tools.copies import PACKAGES, ROOT
from tools.mutants import Mutant, MutantError, mutants

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_place_is_there_once_and_what_replaces_it_is_python(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()

    assert mutant.of(text) != text


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS if mutant.file.endswith(".py")}))
def test_a_file_whose_private_names_are_all_renamed_is_broken_in_the_same_places(file: str) -> None:
    text = (ROOT / file).read_text()
    renamed = _renamed(text)

    assert [mutant.name for mutant in MUTANTS if mutant.file == file and not _breaks_alike(mutant, text, renamed)] == []


def test_every_mutant_is_killed_by_a_test_that_exists() -> None:
    tests = sorted({mutant.killed_by for mutant in MUTANTS})
    collect = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *tests]

    collected = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True, check=False)

    assert collected.returncode == pytest.ExitCode.OK, collected.stderr


def test_killed_by_names_the_row_of_a_table_of_verdicts() -> None:
    assert [mutant.name for mutant in MUTANTS if re.search(r"_verdicts\.py::\w+$", mutant.killed_by)] == []


def test_there_are_enough_mutants_and_no_duplicates() -> None:
    of_each = Counter(mutant.component for mutant in MUTANTS)

    assert of_each.keys() == PACKAGES.keys()
    assert min(of_each["server"], of_each["widget_sim"]) >= 40
    assert _repeated(replace(mutant, name="", killed_by="") for mutant in MUTANTS) == []
    assert _repeated(mutant.name for mutant in MUTANTS) == []


@pytest.mark.parametrize("text", ["", "if other: pass", "if x: pass\nif x: pass"])
def test_a_place_that_is_not_there_exactly_once_does_not_fit(text: str) -> None:
    mutant = Mutant("name", "file.py", "if x: pass", "if y: pass", "test")

    with pytest.raises(MutantError, match=r"'if x: pass' matches [02] places in file\.py instead of one"):
        mutant.of(text)


def test_a_mutant_keeps_the_indentation_and_everything_else() -> None:
    mutant = Mutant("name", "file.py", "if $X:\n    go()", "if y:\n    go()", "test")

    assert mutant.of("def f(x, y):\n    if x:\n        go()\n    go()  # x\n") == (
        "def f(x, y):\n    if y:\n        go()\n    go()  # x\n"
    )


def test_the_replacement_may_use_a_name_from_another_place() -> None:
    mutant = Mutant("name", "file.py", "self.$A()", "self.$B()", "test", where="self.$B = 0")

    assert mutant.of("self._a()\nself._b = 0\n") == "self._b()\nself._b = 0\n"


@pytest.mark.parametrize("changes", [{"find": "if"}, {"replace": "$B"}, {"replace": "("}, {"where": "$B = 1"}])
def test_an_unreadable_or_incomplete_pattern_is_refused(changes: dict[str, str]) -> None:
    mutant = replace(Mutant("name", "file.py", "$A()", "1", "test"), **changes)

    with pytest.raises(MutantError):
        mutant.of("f()\n")


def test_the_settings_of_mutmut_name_what_is_there() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    packages = {package: folder for folder in PACKAGES for package in PACKAGES[folder]}

    for pattern in settings["only_mutate"]:
        _, package, *rest = pattern.removesuffix("/*").split("/")
        assert ROOT.joinpath(packages[package], package, *rest).is_dir()
    assert all((ROOT / path).exists() for path in settings["pytest_add_cli_args_test_selection"])


def _repeated(values: Iterable[object]) -> list[object]:
    return [value for value, times in Counter(values).items() if times > 1]


def _breaks_alike(mutant: Mutant, text: str, renamed: str) -> bool:
    return mutant.of(renamed) == _renamed(mutant.of(text))


def _renamed(text: str) -> str:
    """Return Python source with every private name changed."""
    root = SgRoot(text, "python").root()
    names = root.find_all(kind="identifier", regex="^_[A-Za-z]")
    return root.commit_edits([name.replace(f"{name.text()}_renamed") for name in names])
