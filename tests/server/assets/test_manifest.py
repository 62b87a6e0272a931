"""Tests that a server without the built assets does not start, and that the error says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_server.assets import AssetsError, router
from chatkey_server.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


def test_a_missing_build_is_reported_with_the_command_that_builds(tmp_path: Path) -> None:
    with pytest.raises(AssetsError, match=r"not been built.*python widget_sim/build_assets\.py"):
        router(Settings(), tmp_path)


def test_a_missing_file_is_named(built: Path) -> None:
    (built / "widget-1.snapshot").unlink()

    with pytest.raises(AssetsError, match=r"widget-1\.snapshot is missing.*python widget_sim/build_assets\.py"):
        router(Settings(), built)


def test_a_manifest_of_another_shape_is_named(built: Path) -> None:
    (built / "manifest.json").write_text('{"pyodide": 1}')

    with pytest.raises(AssetsError, match=r"manifest\.json cannot be read.*python widget_sim/build_assets\.py"):
        router(Settings(), built)


def test_a_complete_build_is_served(built: Path) -> None:
    assert router(Settings(), built).routes
