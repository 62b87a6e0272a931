"""Builds the documentation site from the Markdown pages, for the wheel and for `chatkey docs`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from chatkey_build.node import BuildError, run


def build_site(root: Path, made: Path | None = None) -> Path:
    """Build the site of the checkout at `root`, and return its folder. A warning of Sphinx raises `BuildError`.

    The folder `made` is by default the one in which `chatkey docs` of this checkout looks for the site.
    """
    settings, made = root / "tools" / "site", made or site_folder(root)
    if not (settings / "node_modules").is_dir():
        run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=settings)
    shutil.rmtree(made, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="chatkey-site-") as room:
        options = ["-q", "-W", "--keep-going", "-E", "-b", "html", "-c", str(settings), "-d", room]
        command = [sys.executable, "-m", "sphinx", *options, str(root), str(made)]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise BuildError(f"the documentation site cannot be built:\n{done.stderr}")
    for unused in (*made.rglob("*.map"), made / ".buildinfo"):
        unused.unlink()
    return made


def site_folder(root: Path) -> Path:
    """Return the folder of the built site of the checkout at `root`."""
    return root / "build" / "site"
