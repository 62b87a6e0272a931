"""Tests of rebuilding stale browser files. Stale files must be rebuilt in a checkout, and nowhere else."""

from pathlib import Path

import pytest

from chatkey_e2e.freshness import StaleError, refresh


def _script(root: Path) -> Path:
    (root / "widget_sim").mkdir()
    return root / "widget_sim" / "build_assets.py"


def test_outside_a_checkout_nothing_is_built(tmp_path: Path) -> None:
    refresh(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_in_a_checkout_the_build_is_run(tmp_path: Path) -> None:
    built = tmp_path / "built"
    _script(tmp_path).write_text(f"open({str(built)!r}, 'w').close()")

    refresh(tmp_path)

    assert built.exists()


def test_a_build_that_fails_is_told_in_its_own_words(tmp_path: Path) -> None:
    _script(tmp_path).write_text("raise SystemExit('npm is offline')")

    with pytest.raises(StaleError, match="npm is offline"):
        refresh(tmp_path)
