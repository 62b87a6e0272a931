"""Tests of `--watch`, which repeats the run after files have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatkey_check.command import watch
from chatkey_check.wire.http import Unreachable


def test_a_change_a_new_file_and_a_deleted_one_are_noticed(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x")
    before = watch.stamps([tmp_path])

    def meanwhile(_: float) -> None:
        if not (tmp_path / "c.py").exists():
            (tmp_path / "a.py").write_text("longer")
            (tmp_path / "b.py").unlink()
            (tmp_path / "c.py").write_text("x")

    changed = watch.changed([tmp_path], before, sleep=meanwhile)

    assert [Path(name).name for name in changed] == ["a.py", "b.py", "c.py"]


def test_changes_are_reported_once_the_files_stay_the_same(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("")
    before, writes = watch.stamps([file]), iter("abc")

    def meanwhile(_: float) -> None:
        more = next(writes, "")
        if more:
            file.write_text(file.read_text() + more)

    watch.changed([file], before, sleep=meanwhile)

    assert file.read_text() == "abc"


@pytest.mark.parametrize("folder", ["node_modules", ".git", "__pycache__", ".venv"])
def test_generated_folders_are_not_watched(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "x.py").write_text("")

    assert watch.stamps([tmp_path]) == {}


def test_a_backend_that_restarts_is_waited_for() -> None:
    states, slept = iter([False, False, True]), list[float]()

    def reach() -> None:
        if not next(states):
            raise Unreachable

    watch.wait_until_up(reach, sleep=slept.append)

    assert slept == [watch.EVERY, watch.EVERY]


def test_the_wait_for_a_backend_ends_after_a_while() -> None:
    slept = list[float]()

    def reach() -> None:
        raise Unreachable

    watch.wait_until_up(reach, sleep=slept.append, looks=3)

    assert len(slept) == 3
