"""Starts the reference backends with the exact commands of their README."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
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
PAGE: Final = EXAMPLES.parent.parent / "your-endpoint.md"
PRINTED: Final = re.compile(r"^<!-- run: (?P<line>.+) -->\n```python\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
MODULE: Final = re.compile(
    r"^<!-- file: \S+/(?P<name>\w+\.py) -->\n```python\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
PROVIDER: Final = "prov_example"
SECRETS: Final = {name: secrets.token_urlsafe(32) for name in ("CHAT_SECRET_KEY", "SESSION_KEY", "LOGIN_PASSWORD")}
KIT: Final = Path(__file__).parent
OFFLINE: Final = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|Could not transfer artifact")
LIBRARIES: Final = {
    "Rails": ("ruby", "-e", 'require "action_controller/railtie"; require "jwt"; require "puma"'),
    "Laravel": ("php", "-r", '(@include "Illuminate/autoload.php") or exit(1);'),
}
"""Commands that fail if the libraries of a backend are missing. Other backends install theirs themselves."""
ARTISAN: Final = "php artisan serve --port 8000"
BARE_LARAVEL: Final = f"php -S 127.0.0.1:8000 {KIT / 'laravel_site.php'}"
QUIET: Final = {"NPM_CONFIG_IGNORE_SCRIPTS": "true", "NPM_CONFIG_AUDIT": "false", "NPM_CONFIG_FUND": "false"}
LOOKS: Final = 600
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


def printed(folder: Path) -> Example:
    """Save the module and the site that `docs/your-endpoint.md` prints in a folder, and return the site."""
    page = PAGE.read_text()
    site, module = PRINTED.search(page), MODULE.search(page)
    assert site is not None
    assert module is not None
    (folder / module["name"]).write_text(module["text"])
    file = folder / "shop.py"
    file.write_text(site["text"])
    return Example("the page's site", file, site["line"])


@contextmanager
def running(example: Example, *, log: Path, cache: Path) -> Iterator[Backend]:
    """Run a backend until the block ends.

    Raises `Unavailable` if the backend needs a program or package that is missing.
    """
    (port,) = free_ports(1)
    environ, folder = {**environment(), "TMPDIR": str(log.parent)}, example.file.parent
    need_libraries(example.name, environ)
    *steps, line = example.line.replace(ARTISAN, BARE_LARAVEL).replace("8000", str(port)).split(" && ")
    if steps:
        folder = installed(EXAMPLES / steps[0].removeprefix("cd "), cache, environ, steps[1:])
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
    return {
        **os.environ,
        **SECRETS,
        "CHAT_PROVIDER_ID": PROVIDER,
        "PATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "NEXT_TELEMETRY_DISABLED": "1",
    }


def program(name: str, environ: Mapping[str, str]) -> str:
    found = shutil.which(name, path=environ["PATH"])
    if found is None:
        raise Unavailable(f"there is no `{name}` on this machine")
    return found


def need_libraries(name: str, environ: Mapping[str, str]) -> None:
    """Raise `Unavailable` if libraries that a backend does not install itself are missing."""
    command = LIBRARIES.get(name)
    if command is None:
        return
    found = subprocess.run([program(command[0], environ), *command[1:]], capture_output=True, text=True, check=False)
    if found.returncode:
        raise Unavailable(f"this machine has `{command[0]}`, but not the libraries of {name}: {found.stderr[-300:]}")


def installed(source: Path, cache: Path, environ: Mapping[str, str], steps: Sequence[str] = ("npm ci",)) -> Path:
    """Copy a folder to the cache, run the commands there that install and build it, and return the copy.

    Each version of the folder is installed once.
    """
    version = hashlib.sha256(b"".join(file.read_bytes() for file in _files(source))).hexdigest()[:12]
    folder = cache / f"{source.name}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may be installing the same folder
        done = folder / ".installed"
        if not done.is_file():
            _install(source, folder, environ, steps)
            done.touch()
    return folder


def _install(source: Path, folder: Path, environ: Mapping[str, str], steps: Sequence[str]) -> None:
    for file in _files(source):
        copy = folder / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    for step in steps:
        name, *rest = step.split()
        command, known = [program(name, environ), *rest], {**environ, **QUIET}
        built = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False)
        output = f"{built.stdout}\n{built.stderr}"
        if built.returncode and OFFLINE.search(output):
            raise Unavailable(f"`{step}` cannot reach its registry from this machine")
        assert built.returncode == 0, output


def _files(source: Path) -> list[Path]:
    """Return the files of a folder. Files that an earlier build left there are not copied."""
    built = {"node_modules", ".next", "target"}
    return sorted(file for file in source.rglob("*") if file.is_file() and not built & set(file.parts))


def _reach(child: subprocess.Popen[bytes], origin: str, log: Path) -> None:
    assert child.poll() is None, f"the backend ended with status {child.returncode}:\n{log.read_text()}"
    HttpWire(Target(origin)).reach(origin)
