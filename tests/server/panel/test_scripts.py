"""Runs the panel's script tests (*.test.mjs) in Node without a browser, and reports each one separately."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from importlib.resources import files
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
    cells = tomllib.loads(files("chatkey_widget").joinpath("calls.toml").read_text("utf-8"))["panel"]
    return {file.name: outcomes_of(file, PANEL=str(PANEL), CELLS=json.dumps(cells)) for file in FILES}


@pytest.mark.parametrize(("file", "name"), [(file.name, name) for file in FILES for name in names(file)])
def test_script(outcomes: Outcomes, file: str, name: str) -> None:
    assert outcomes[file][name] is None, outcomes[file][name]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_every_test_of_a_file_is_reported(outcomes: Outcomes, file: Path) -> None:
    assert outcomes[file.name].keys() == set(names(file)) != set()
