"""Tests of the threats page. The page must name a test for every attack, and every named test must exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from tools import refusals_page

from chatkey_conform.suite import cases

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threats.md").read_text()
ROW_ID = re.compile(r"(?:JWT|PRF|OAS|OAC|HTM|WSK|HTP)-\d{3}")
TABLE_ROW = re.compile(r"^\| (?!attack |accident |---)(.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)

CASES = {case.id for case in cases()}
THREATS = TABLE_ROW.findall(PAGE)


@cache
def functions_in(module: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


@cache
def rows() -> set[str]:
    return set(refusals_page.ids()) - refusals_page.declined().keys()


def exists(name: str) -> bool:
    """Return whether `name` is a test function, a case of the suite, or a tested row in tests/refusals/rows.toml."""
    if ROW_ID.fullmatch(name):
        return name in rows()
    path, _, function = name.partition("::")
    return name in CASES or ((ROOT / path).is_file() and function in functions_in(ROOT / path))


@pytest.mark.parametrize(("attack", "answer", "tests"), THREATS, ids=[attack for attack, _, _ in THREATS])
def test_every_attack_is_tried_by_tests_that_exist(attack: str, answer: str, tests: str) -> None:
    named = re.findall(r"`([^`]+)`", tests)

    assert named, attack
    assert " ".join(f"`{name}`" for name in named) == tests
    assert [name for name in named if not exists(name)] == []


def test_every_line_of_the_tables_is_read() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]

    assert len(lines) - 2 * PAGE.count("\n## ") == len(THREATS) > 40
