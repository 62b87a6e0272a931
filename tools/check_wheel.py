"""Checks the built wheels from the outside: their contents, and that the commands and the server start.

Run it with the Python in which the wheels are installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import urllib.request
import zipfile
from pathlib import Path
from typing import Final

from chatkey_stack.ports import free_ports
from chatkey_stack.process import Process

ROOT: Final = Path(__file__).parents[1]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMMANDS: Final = PROJECT["entry-points"]["chatkey.commands"]
CHATKEY: Final = str(Path(sysconfig.get_path("scripts")) / "chatkey")
ASSETS: Final = "chatkey_assets/built/"
SITE: Final = "chatkey/site.tar.xz"
UNWANTED: Final = ("node_modules/", "chatkey_build/", "tests/", "__pycache__/", ".pyc", ".map")
MOST_BYTES: Final = {"chatkey": 5_000_000, "chatkey_kit": 30_000_000}
"""The largest size of each wheel. If a wheel is larger, it probably contains files twice."""


class WheelError(Exception):
    """The wheel is not what users should get. The message says why."""


def main() -> None:
    """Check the wheels named on the command line, chatkey and chatkey-kit. This Python must have both."""
    wheel, kit = map(Path, sys.argv[1:])
    if SITE not in check_contents(wheel):
        raise WheelError(f"the wheel contains no documentation: there is no {SITE}")
    names = [name.removeprefix(ASSETS) for name in check_contents(kit) if name.startswith(ASSETS)]
    assets = [name for name in names if not name.endswith((".gz", ".zst", "manifest.json"))]
    with tempfile.TemporaryDirectory(prefix="chatkey-wheel-") as folder:
        # So that nothing is imported from the checkout.
        os.chdir(folder)
        check_commands(version=wheel.name.split("-")[1])
        check_server(Path(folder), assets)
    sizes = " and ".join(f"{each.name} has {each.stat().st_size / 1e6:.1f} MB" for each in (wheel, kit))
    sys.stdout.write(f"{sizes}; {len(assets)} assets were served\n")


def check_contents(wheel: Path) -> list[str]:
    """Return the names of the files in the wheel, which must be small and contain no files of the build."""
    names = zipfile.ZipFile(wheel).namelist()
    if unwanted := [name for name in names if any(part in name for part in UNWANTED)]:
        raise WheelError(f"{wheel.name} contains files that users do not need: {', '.join(unwanted[:5])}")
    most = MOST_BYTES[wheel.name.partition("-")[0]]
    if (size := wheel.stat().st_size) > most:
        raise WheelError(f"{wheel.name} has {size} bytes, more than {most}; check it for duplicate files")
    return names


def check_commands(version: str) -> None:
    """Run the commands that only print something."""
    if version not in (said := _chatkey("--version")):
        raise WheelError(f"`chatkey --version` prints {said!r}, but the wheel's version is {version}")
    listed = _chatkey("--help")
    if missing := [name for name in COMMANDS if f"\n  {name} " not in listed]:
        raise WheelError(f"`chatkey --help` does not list {', '.join(missing)}")
    for name in COMMANDS:
        _chatkey(name, "--help")
    if "test_" not in _chatkey("e2e", "--list"):
        raise WheelError("`chatkey e2e --list` lists no scenario")


def check_server(folder: Path, assets: list[str]) -> None:
    """Start the server as a new user would, and fetch every asset from it."""
    (port,) = free_ports(1)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    _chatkey("db", "migrate", environ=environ)
    with Process("chatkey serve", [CHATKEY, "serve", "--port", str(port)], environ=environ, log=folder / "serve.log"):
        for name in assets:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/assets/{name}") as answer:
                if not answer.read():
                    raise WheelError(f"/assets/{name} is empty")


def _chatkey(*arguments: str, environ: dict[str, str] | None = None) -> str:
    done = subprocess.run(  # noqa: S603  (the command is ours)
        [CHATKEY, *arguments], capture_output=True, text=True, env=environ, check=False
    )
    if done.returncode:
        raise WheelError(f"`chatkey {' '.join(arguments)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
