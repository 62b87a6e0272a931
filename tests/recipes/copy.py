"""Makes a copy of the source tree, in which a test can follow a recipe of CONTRIBUTING.md."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
COMPONENTS: Final = ("server", "widget_sim", "fake_oauth", "demo", "e2e")
FOLDERS: Final = (*COMPONENTS, "tests", "tools", "docs")
BUILT: Final = Path("server", "chatkey_server", "assets", "built")


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
