"""Every row is a test or is declined with a reason; no test and no reason is for a row that does not exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from chatkey_stack.patience import PATIENCE

HERE = Path(__file__).parent
SCENARIOS = HERE.parents[1] / "e2e" / "chatkey_e2e" / "scenarios"
ROW = re.compile(r"(?<![A-Za-z])(?:JWT|PRF|OAS|OAC|HTM|WSK|HTP)[-_]\d{3}(?!\d)", re.IGNORECASE)


def collection(folder: Path) -> subprocess.Popen[str]:
    """Begin to collect the tests of a folder."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(folder)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def rows_in(collecting: subprocess.Popen[str]) -> set[str]:
    """Return the rows that the names of the collected tests carry."""
    said, _ = collecting.communicate(timeout=2 * PATIENCE)
    assert collecting.returncode == 0, said
    names = [line.partition("::")[2] for line in said.splitlines()]
    return {found.upper().replace("_", "-") for name in names for found in ROW.findall(name)}


@pytest.fixture(scope="module")
def rows() -> list[str]:
    """The ids of all rows."""
    return (HERE / "ids.txt").read_text().split()


@pytest.fixture(scope="module")
def declined() -> dict[str, str]:
    """The rows that are no test, with the reason."""
    entries = tomllib.loads((HERE / "declined.toml").read_text()).get("row", [])
    assert all(entry.keys() == {"id", "reason"} for entry in entries)
    assert len({entry["id"] for entry in entries}) == len(entries)
    return {entry["id"]: entry["reason"] for entry in entries}


@pytest.fixture(scope="module")
def tested() -> set[str]:
    """The rows that are tests, here and among the scenarios, where the callback page runs in a browser."""
    begun = [collection(folder) for folder in (HERE, SCENARIOS)]
    return {row for collecting in begun for row in rows_in(collecting)}


def test_the_list_names_each_row_once(rows: list[str]) -> None:
    assert len(set(rows)) == len(rows) == 340
    assert all(ROW.fullmatch(row) for row in rows)


def test_every_row_is_a_test_or_declined(rows: list[str], declined: dict[str, str], tested: set[str]) -> None:
    assert sorted(set(rows) - tested - declined.keys()) == []


def test_what_is_declined_is_not_tested(declined: dict[str, str], tested: set[str]) -> None:
    assert sorted(declined.keys() & tested) == []


def test_nothing_else_is_tested_or_declined(rows: list[str], declined: dict[str, str], tested: set[str]) -> None:
    assert sorted((tested | declined.keys()) - set(rows)) == []


def test_a_reason_is_a_sentence(declined: dict[str, str]) -> None:
    assert [row for row, reason in declined.items() if len(reason) < 40 or not reason.endswith(".")] == []
