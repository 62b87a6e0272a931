"""Fixtures: a miniature checkout for the builder, and the built files of the real checkout."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# No package installs the builder. Its path comes last, so that an installed chatkey is still the one under test.
sys.path.append(str(ROOT / "widget_sim"))

from tests.build.checkout import Checkout  # noqa: E402

from chatkey_build import build as chatkey_build  # noqa: E402
from chatkey_build.builder import PYODIDE_FILES, Built, built_folder  # noqa: E402

LOCK = {"packages": {"node_modules/pyodide": {"version": "1.2.3"}}}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    made = Checkout(tmp_path)
    for package in ("chatkey_protocol", "chatkey_widget", "chatkey_build"):
        made.write(f"widget_sim/{package}/__init__.py", f'"""{package}."""\n')
    made.write("widget_sim/page/sdk.js", "// sdk")
    made.write("widget_sim/page/sdk.d.ts", "// types")
    made.write("widget_sim/pyodide/package-lock.json", json.dumps(LOCK))
    made.write("widget_sim/pyodide/snapshot.mjs", "// snapshot")
    for name in PYODIDE_FILES:
        made.write(f"widget_sim/pyodide/node_modules/pyodide/{name}", json.dumps({"info": {"version": "1.2.3"}}))
    monkeypatch.setattr("chatkey_build.builder.install_pyodide", made.install)
    monkeypatch.setattr("chatkey_build.builder.make_snapshot", made.snapshot)
    return made


@pytest.fixture(scope="session")
def built() -> Built:
    """Rebuild the files of the real checkout if they are stale, and return them."""
    return chatkey_build(ROOT / "widget_sim")


@pytest.fixture(scope="session")
def built_path() -> Callable[[str], Path]:
    return lambda name: built_folder(ROOT / "widget_sim") / name
