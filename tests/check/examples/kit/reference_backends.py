"""Starts the reference backends with the exact commands of their README."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chatkey_check.command import watch
from chatkey_check.options.table import Given
from chatkey_check.options.target import target
from chatkey_check.target import Target
from chatkey_check.wire.http import HttpWire
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

EXAMPLES: Final = Path(__file__).parents[4] / "docs" / "integrators" / "examples"
SECTION: Final = re.compile(
    r"^## (?P<name>.+)\n\n\[[^\]]+\]\((?P<file>[^)]+)\)(?:(?!^## ).*\n)*?```sh\n(?P<line>.+)\n", re.MULTILINE
)
PROVIDER: Final = "prov_example"
SECRETS: Final = {name: secrets.token_urlsafe(32) for name in ("CHAT_SECRET_KEY", "SESSION_KEY", "LOGIN_PASSWORD")}
INSTALL: Final = re.compile(r"cd (?P<folder>\w+) && npm ci && ")
OFFLINE: Final = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT")
LOOKS: Final = 200
PAUSE: Final = 0.1
"""The time in seconds between two checks whether the backend is listening."""


class Unavailable(Exception):
    """Raised if this machine cannot run a backend. The message says what is missing."""


@dataclass(frozen=True, slots=True)
class Example:
    """A section of the README: a backend and the command that starts it."""

    name: str
    file: Path
    line: str


@dataclass(frozen=True, slots=True)
class Backend:
    origin: str
    environ: Mapping[str, str] = field(repr=False)

    def target(self, **given: Any) -> Target:
        """Return the target that `chatkey check` would build from `given` and the login options for Ada and Bo."""
        login = {"login_field": ("user=ada",), "login_field_env": ("password=LOGIN_PASSWORD",)}
        members = {"login_url": f"{self.origin}/login", **login, **given}
        return target(Given(url=f"{self.origin}/chat/token", **members), self.environ)


def examples() -> list[Example]:
    found = SECTION.finditer((EXAMPLES / "README.md").read_text())
    return [Example(match["name"], EXAMPLES / match["file"], match["line"]) for match in found]


@contextmanager
def running(example: Example, *, log: Path, cache: Path) -> Iterator[Backend]:
    """Run a backend until the block ends.

    Raises `Unavailable` if the backend needs a program or package that is missing.
    """
    (port,) = free_ports(1)
    environ, folder, line = environment(), EXAMPLES, example.line.replace("8000", str(port))
    installing = INSTALL.match(line)
    if installing:
        folder = installed(EXAMPLES / installing["folder"], cache, environ)
        line = line[installing.end() :]
    words = line.split()
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    command = [program(words[0], environ), *words[1:]]
    with log.open("wb") as output:
        child = subprocess.Popen(
            command, cwd=folder, env=environ, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            origin = f"http://localhost:{port}"
            watch.wait_until_up(lambda: _reach(child, origin, log), sleep=lambda _: time.sleep(PAUSE), looks=LOOKS)
            yield Backend(origin, environ)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(
                    child.pid, signal.SIGTERM
                )  # a virtual environment's `node` is a wrapper that starts Node as a child
            child.wait(PATIENCE)


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **SECRETS, "CHAT_PROVIDER_ID": PROVIDER, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def program(name: str, environ: Mapping[str, str]) -> str:
    found = shutil.which(name, path=environ["PATH"])
    if found is None:
        raise Unavailable(f"there is no `{name}` on this machine")
    return found


def installed(source: Path, cache: Path, environ: Mapping[str, str]) -> Path:
    """Copy a folder to the cache, install the packages of its lock file there, and return the copy.

    Each version of the lock file is installed once.
    """
    lock = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = cache / f"{source.name}-{lock}"
    shutil.copytree(source, folder, dirs_exist_ok=True)
    if not (folder / "node_modules" / ".package-lock.json").is_file():
        command = [program("npm", environ), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=folder, env=dict(environ), capture_output=True, text=True, check=False)
        if done.returncode and OFFLINE.search(done.stderr):
            raise Unavailable("npm cannot reach its registry from this machine")
        assert done.returncode == 0, done.stderr
    return folder


def _reach(child: subprocess.Popen[bytes], origin: str, log: Path) -> None:
    assert child.poll() is None, f"the backend ended with status {child.returncode}:\n{log.read_text()}"
    HttpWire(Target(origin)).reach(origin)
