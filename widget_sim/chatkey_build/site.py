"""Builds the documentation site from the Markdown pages, for the wheel and for `chatkey docs`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from chatkey_build.node import BuildError, run
from chatkey_build.sources import pack


def pack_site(root: Path) -> Path:
    """Build the site of the checkout at `root`, and return it as one file. `chatkey docs` of this checkout finds it."""
    packed = root / "build" / "site.zip"
    packed.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="chatkey-site-") as room:
        made = build_site(root, Path(room) / "site")
        packed.write_bytes(pack(made, (file for file in made.rglob("*") if file.is_file())))
    return packed


def build_site(root: Path, made: Path) -> Path:
    """Build the site of the checkout at `root` in the folder `made`. A warning of Sphinx raises `BuildError`."""
    settings = root / "tools" / "site"
    if not (settings / "node_modules").is_dir():
        run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=settings)
    with tempfile.TemporaryDirectory(prefix="chatkey-site-") as room:
        options = ["-q", "-W", "--keep-going", "-E", "-b", "html", "-c", str(settings), "-d", room]
        command = [sys.executable, "-m", "sphinx", *options, str(root), str(made)]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise BuildError(f"the documentation site cannot be built:\n{done.stderr}")
    for unused in (*made.rglob("*.map"), made / ".buildinfo"):
        unused.unlink()
    return made
