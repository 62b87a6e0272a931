"""The tests and the code must use exactly the fault ids that docs/faults.md defines."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

from tools import refusals_page

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests", "e2e", "server", "widget_sim", "demo", "fake_oauth")
ID = r"\b(?:F\d{3}|(?:JWT|PRF|OAS|OAC|HTM|WSK|HTP|WDG)-\d{3})\b"
NOQA = re.compile(r"#.*\bnoqa\b.*")
"""A linter comment. Its codes look like fault ids, so it is removed."""


@cache
def used() -> set[str]:
    modules = (
        module for folder in FOLDERS for module in (ROOT / folder).rglob("*.py") if "node_modules" not in module.parts
    )
    return {name for module in modules for name in re.findall(ID, NOQA.sub("", module.read_text()))}


@cache
def defined() -> Counter[str]:
    return Counter(re.findall(rf"^### ({ID})$", (ROOT / "docs" / "faults.md").read_text(), re.MULTILINE))


def refused() -> set[str]:
    """Return the row ids of tests/refusals/rows.toml. Each row describes a tested input."""
    return set(refusals_page.ids())


def test_every_fault_that_is_named_is_defined() -> None:
    assert used()
    assert used() - defined().keys() - refused() == set()


def test_every_fault_that_is_defined_is_named_by_a_test_or_the_code() -> None:
    assert defined().keys() - used() == set()


def test_every_fault_is_defined_once() -> None:
    assert [name for name, count in defined().items() if count > 1] == []


def test_rows_that_refer_to_a_fault_refer_to_one_that_is_defined() -> None:
    named = set(re.findall(ID, (ROOT / "docs" / "faults.md").read_text()))

    assert named == defined().keys()
