"""Copies the source tree, so that a test can follow a recipe of CONTRIBUTING.md in the copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
COMPONENTS: Final = ("server", "widget_sim", "fake_oauth", "demo", "e2e")
FOLDERS: Final = (*COMPONENTS, "kit", "tests", "tools", "docs")
Recipe = Mapping[str, Mapping[str, str]]
"""The replacements of a recipe, by file. Each replaced text must occur exactly once; of a new file, it is empty."""

BUILT: Final = Path("widget_sim", "chatkey_assets", "built")


def copy_of_the_tree(tmp_path: Path) -> Path:
    """Copy the components, tests and pages. Built files are linked, and node_modules is left out."""
    tree = tmp_path / "tree"
    left_out = shutil.ignore_patterns("built", "node_modules")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=left_out)
    for file in ("pyproject.toml", "CONTRIBUTING.md", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / file, tree / file)
    (tree / BUILT).symlink_to(ROOT / BUILT)
    return tree


def follow(tree: Path, recipe: Recipe) -> None:
    """Change the files of the copy as the recipe says."""
    for name, changes in recipe.items():
        file = tree / name
        text = file.read_text() if file.exists() else ""
        for old, new in changes.items():
            assert not text if not old else text.count(old) == 1, f"{name} has {text.count(old)} times {old!r}"
            text = text.replace(old, new) if old else new
        file.write_text(text)


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, with the copy's packages."""
    path = os.pathsep.join(str(tree / component) for component in (*COMPONENTS, "."))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def run_tests(tree: Path, *arguments: str) -> dict[str, str]:
    """Run tests in the copy, and return the results by file and test name."""
    ended = run(tree, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *arguments)
    lines = (line.split(" ", 2) for line in ended.stdout.splitlines())
    found = {words[1]: words[0] for words in lines if words[0] in {"PASSED", "FAILED", "ERROR"}}
    assert found, ended.stdout
    return found
