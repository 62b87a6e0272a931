"""Builds the documentation site from the Markdown pages, for the wheel and for `chatkey docs`."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from chatkey_build.node import BuildError, run


def pack_site(root: Path) -> Path:
    """Build the site of the checkout at `root`, and return it as one file. `chatkey docs` of this checkout finds it."""
    packed = root / "build" / "site.tar.xz"
    packed.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="chatkey-site-") as room:
        packed.write_bytes(pack(build_site(root, Path(room) / "site")))
    return packed


def pack(site: Path) -> bytes:
    """Pack the folder in a format that stores only once what its pages have in common.

    The same files always give the same bytes.
    """
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        for file in sorted(each for each in site.rglob("*") if each.is_file()):
            member = tarfile.TarInfo(file.relative_to(site).as_posix())
            member.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(member, content)
    return buffer.getvalue()


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
    for unused in (*made.rglob("*.map"), *made.rglob("fa-brands-*"), made / ".buildinfo"):
        unused.unlink()
    return made
