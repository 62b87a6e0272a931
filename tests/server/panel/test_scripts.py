"""Runs the panel's script tests (*.test.mjs) in Node without a browser, and reports each one separately."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.node import names, outcomes_of

import chatkey_server.panel

HERE = Path(__file__).parent
PANEL = Path(chatkey_server.panel.__file__).parent
FILES = sorted(HERE.glob("*.test.mjs"))

Outcomes = Mapping[str, Mapping[str, str | None]]


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    """Map each file and test name to the failure message, or to None."""
    return {file.name: outcomes_of(file, PANEL=str(PANEL)) for file in FILES}


@pytest.mark.parametrize(("file", "name"), [(file.name, name) for file in FILES for name in names(file)])
def test_script(outcomes: Outcomes, file: str, name: str) -> None:
    assert outcomes[file][name] is None, outcomes[file][name]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_every_test_of_a_file_is_reported(outcomes: Outcomes, file: Path) -> None:
    assert outcomes[file.name].keys() == set(names(file)) != set()
