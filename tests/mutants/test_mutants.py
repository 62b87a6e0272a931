"""The lists of mutants fit server and widget as they are; `nox -s mutants` runs them."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

import pytest
from copies import PACKAGES, ROOT
from mutants import Mutant, MutantError, mutants

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_line_is_there_once_and_what_replaces_it_is_python(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()

    assert mutant.of(text) != text


def test_every_mutant_is_killed_by_a_test_that_exists() -> None:
    missing = [mutant.killed_by for mutant in MUTANTS if not _is_there(*mutant.killed_by.split("::"))]

    assert not missing


def test_there_are_many_and_no_two_are_the_same() -> None:
    of_each = Counter(mutant.component for mutant in MUTANTS)

    assert of_each.keys() == PACKAGES.keys()
    assert min(of_each["server"], of_each["widget_sim"]) >= 90
    assert [key for key, times in Counter((m.file, m.find, m.replace) for m in MUTANTS).items() if times > 1] == []
    assert [name for name, times in Counter(mutant.name for mutant in MUTANTS).items() if times > 1] == []


@pytest.mark.parametrize("text", ["", "    if other:\n", "    if x:\n    if x:\n"])
def test_a_line_that_is_not_there_exactly_once_does_not_fit(text: str) -> None:
    mutant = Mutant("name", "file.py", "if x:", "if y:", "test")

    with pytest.raises(MutantError, match=r"file\.py has [02] lines that are 'if x:'"):
        mutant.of(text)


def test_a_mutant_keeps_the_indentation_and_everything_else() -> None:
    mutant = Mutant("name", "file.py", "if x:", "if y:", "test")

    assert mutant.of("def f(x, y):\n    if x:\n        pass  # if x:\n") == (
        "def f(x, y):\n    if y:\n        pass  # if x:\n"
    )


def _is_there(file: str, *names: str) -> bool:
    """Tell whether a file has a class and test, or a test, of these names; parameters are left out."""
    body = _body(file)
    for name in names:
        found = [node for node in body if isinstance(node, _NAMED) and node.name == name.partition("[")[0]]
        if not found:
            return False
        body = found[0].body
    return True


@cache
def _body(file: str) -> list[ast.stmt]:
    return ast.parse((ROOT / file).read_text()).body


_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
