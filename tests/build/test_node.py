"""Tests of how the builder runs Node and npm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chatkey_build.node import BuildError, install_pyodide, pinned_version, run

if TYPE_CHECKING:
    from tests.build.checkout import Checkout


PINNED = Path(__file__).parents[2] / "widget_sim" / "pyodide"


def test_a_failing_step_is_told_in_its_own_words_and_short_lines(tmp_path: Path) -> None:
    script = "console.error('x'.repeat(100000)); console.error('the reason'); process.exitCode = 3"

    with pytest.raises(BuildError, match="node -e failed with exit code 3") as failure:
        run("node", ["-e", script], cwd=tmp_path)

    assert "the reason" in str(failure.value)
    assert len(str(failure.value)) < 1000


def test_an_installed_pyodide_of_the_pinned_version_is_used_as_it_is(checkout: Checkout) -> None:
    folder = checkout.root / "widget_sim" / "pyodide"
    checkout.write("widget_sim/pyodide/node_modules/pyodide/package.json", json.dumps({"version": "1.2.3"}))

    assert install_pyodide(folder) == folder / "node_modules" / "pyodide"


def test_the_lock_pins_one_pyodide_by_hash_and_names_no_address() -> None:
    lock = json.loads((PINNED / "package-lock.json").read_text())
    package = json.loads((PINNED / "package.json").read_text())

    assert package["dependencies"] == {"pyodide": pinned_version(PINNED)}
    for name, entry in lock["packages"].items():
        assert "resolved" not in entry, name
        assert not name or entry["integrity"].startswith("sha512-"), name
