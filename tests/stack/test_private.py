"""Tests of files with secrets. Only the owner may read them, even if an older file of that name was public."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from chatkey_stack.private import write_private


@pytest.fixture(autouse=True)
def _no_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_new_file_is_its_owners_only(tmp_path: Path) -> None:
    write_private(tmp_path / "keys", "secret")

    assert (tmp_path / "keys").read_text() == "secret"
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o666, 0o440, 0o600])
def test_a_file_that_others_could_read_is_replaced(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "keys"
    file.write_text("old")
    file.chmod(mode)

    with file.open() as opened_before:
        write_private(file, "secret")
        seen = opened_before.read()

    assert (seen, file.read_text()) == ("old", "secret")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("old")
    (tmp_path / "keys").symlink_to(elsewhere)

    write_private(tmp_path / "keys", "secret")

    assert elsewhere.read_text() == "old"
    assert stat.S_IMODE((tmp_path / "keys").lstat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()

    with pytest.raises(IsADirectoryError):
        write_private(tmp_path / "keys", "secret")

    assert [file.name for file in tmp_path.iterdir()] == ["keys"]
