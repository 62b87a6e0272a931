"""Every row of `rows.toml` must have a test or a reason for having none. Tests and reasons may name no other rows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from tools import refusals_page

from chatkey_conform.making import proof_verdicts, token_verdicts
from chatkey_stack.patience import PATIENCE

HERE = Path(__file__).parent
SCENARIOS = HERE.parents[1] / "e2e" / "chatkey_e2e" / "scenarios"
ROW = re.compile(r"(?<![A-Za-z])(?:JWT|PRF|OAS|OAC|HTM|WSK|HTP)[-_]\d{3}(?!\d)", re.IGNORECASE)


@contextmanager
def collection(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Collect the tests of a folder in a background process. The process is killed when the context ends."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(folder)]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as collecting:
        try:
            yield collecting
        finally:
            collecting.kill()


def rows_in(collecting: subprocess.Popen[str]) -> set[str]:
    """Return the row ids in the names of the collected tests."""
    said, _ = collecting.communicate(timeout=6 * PATIENCE)
    assert collecting.returncode == 0, said
    names = [line.partition("::")[2] for line in said.splitlines()]
    return {found.upper().replace("_", "-") for name in names for found in ROW.findall(name)}


@pytest.fixture(scope="module")
def rows() -> list[str]:
    return refusals_page.ids()


@pytest.fixture(scope="module")
def declined() -> dict[str, str]:
    """Map the rows without a test to the reason."""
    return refusals_page.declined()


@pytest.fixture(scope="module")
def tested() -> set[str]:
    """The rows that have a test, either in tests/refusals or among the browser scenarios."""
    with collection(HERE) as here, collection(SCENARIOS) as scenarios:
        return rows_in(here) | rows_in(scenarios)


def test_the_list_names_each_row_once(rows: list[str]) -> None:
    assert len(set(rows)) == len(rows) == 341
    assert all(ROW.fullmatch(row) for row in rows)


def test_every_row_is_tested_or_declined(rows: list[str], declined: dict[str, str], tested: set[str]) -> None:
    assert sorted(set(rows) - tested - declined.keys()) == []


def test_a_declined_row_is_not_tested(declined: dict[str, str], tested: set[str]) -> None:
    assert sorted(declined.keys() & tested) == []


def test_only_listed_rows_are_tested_or_declined(rows: list[str], declined: dict[str, str], tested: set[str]) -> None:
    assert sorted((tested | declined.keys()) - set(rows)) == []


def test_every_row_has_its_own_sentence() -> None:
    sentences = [sentence for family in refusals_page.families() for sentence in family.rows.values()]

    assert len(set(sentences)) == len(sentences)
    assert [said for said in sentences if not re.fullmatch(r"[A-Z].{10,}[^.]\.", said) or "|" in said] == []


@pytest.mark.parametrize("module", [token_verdicts, proof_verdicts])
def test_no_two_verdicts_have_the_same_id(module: ModuleType) -> None:
    ids = [verdict.id for name, rows in vars(module).items() if name.startswith("REFUSED") for verdict in rows]

    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert len(ids) > 300


def test_a_family_has_rows_of_one_kind_and_its_own_title() -> None:
    kinds = [{row.partition("-")[0] for row in family.rows} for family in refusals_page.families()]

    assert [len(kind) for kind in kinds] == [1] * len(kinds)
    assert len(set.union(*kinds)) == len(kinds) == len({family.title for family in refusals_page.families()})


def test_a_reason_is_a_sentence(declined: dict[str, str]) -> None:
    assert [row for row, reason in declined.items() if len(reason) < 40 or not reason.endswith(".")] == []
