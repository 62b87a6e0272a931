"""Tests that a server without the built assets does not start, and that the error says what to do."""

from __future__ import annotations

import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from chatkey import __version__
from chatkey_server.assets import AssetsError, manifest, router
from chatkey_server.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


def test_without_the_distribution_of_the_files_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chatkey_assets", None)

    with pytest.raises(AssetsError, match=rf"not installed: pip install 'chatkey\[server\]=={__version__}'"):
        router(Settings())


def test_files_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "version", lambda _: "0.0.9")

    with pytest.raises(AssetsError, match=rf"chatkey-assets 0\.0\.9 does not belong to chatkey {__version__}: pip"):
        router(Settings())


def test_the_extra_requires_the_files_of_this_version(pytestconfig: pytest.Config) -> None:
    project = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text())["project"]

    assert f"{manifest.DISTRIBUTION}=={__version__}" in project["optional-dependencies"]["server"]


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
