"""Checks the base installation of the wheel, without extras: the fake provider and `chatkey check`.

Run it with the Python in which the wheel is installed: `python -m tools.check_base`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process

SCRIPTS: Final = Path(sysconfig.get_path("scripts"))
CHATKEY: Final = str(SCRIPTS / "chatkey")
MOST_PACKAGES: Final = 20
MOST_MEGABYTES: Final = 35
"""The largest base: the fake provider, and the checker over HTTP. The size includes the bytecode, which pip writes."""


class BaseError(Exception):
    """The base installation is not what users should get. The message says why."""


def main() -> None:
    """Check the base that is installed in this Python."""
    check_size()
    with tempfile.TemporaryDirectory(prefix="chatkey-base-") as folder:
        os.chdir(folder)  # so that nothing is imported from the checkout
        check_extras()
        _expect(0, "(not installed: pip install 'chatkey[server]')", "--help")
        _expect(1, "The documentation has no entry 'nonsense'", "docs", "nonsense")
        check_fake_oauth(Path(folder))
        check_check()


def check_size() -> None:
    size = f"without extras: {len(packages())} packages, {megabytes():.0f} MB"
    if len(packages()) > MOST_PACKAGES or megabytes() > MOST_MEGABYTES:
        raise BaseError(f"{size}; at most {MOST_PACKAGES} packages and {MOST_MEGABYTES} MB are allowed")
    sys.stdout.write(f"{size}\n")


def packages() -> list[Distribution]:
    return list(Distribution.discover(path=[sysconfig.get_path("purelib")]))


def megabytes() -> float:
    """Return the size of the files that were installed."""
    files = Path(sysconfig.get_path("purelib")).rglob("*")
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def check_extras() -> None:
    """Check that every command that needs an extra names the extra, and how to install it."""
    for command in Distribution.from_name("chatkey").entry_points.select(group="chatkey.commands"):
        if command.extras:
            _expect(1, f"pip install 'chatkey[{','.join(sorted(command.extras))}]'", command.name)


def check_fake_oauth(folder: Path) -> None:
    """Check that the fake provider starts, publishes its metadata, and has its lab."""
    (port,) = free_ports(1)
    command = [CHATKEY, "fake-oauth", "--port", str(port)]
    with Process("chatkey fake-oauth", command, environ=os.environ, log=folder / "fake.log"):
        for path in ("google/.well-known/openid-configuration", "google/oauth2/v3/certs", "lab"):
            with urlopen(f"http://{LOOPBACK}:{port}/{path}") as answer:
                answer.read()


def check_check() -> None:
    """Check that a correct endpoint passes every check over HTTP, and that skipped checks name the missing extra.

    The endpoint comes from our tests, and needs only the standard library.
    """
    from tests.check.mutants.mutant_backend import PROVIDER, SECRET, SESSIONS, Backend, Clock  # noqa: PLC0415
    from tests.check.mutants.mutant_server import Server  # noqa: PLC0415

    with Server() as server:
        shop = server.add("base", Backend(Clock()).handle)
        check = ["check", f"{shop}/chat/token", "--provider-id", PROVIDER, "--secret-env", "CHAT_SECRET_KEY"]
        check += ["--login", f"Cookie: sid={SESSIONS['ada']}", "--login-b", f"Cookie: sid={SESSIONS['bo']}"]
        environ = os.environ | {"CHAT_SECRET_KEY": SECRET}
        _expect(0, "pip install 'chatkey[server]'", *check, environ=environ)
        _expect(8, "pip install 'chatkey[browser]'", *check, "--browser", environ=environ)


def _expect(status: int, words: str, *arguments: str, environ: Mapping[str, str] = os.environ) -> None:
    """Run a command. Raises `BaseError` if its status is not `status` or its output lacks these words."""
    done = subprocess.run(  # noqa: S603  (the command is ours)
        [CHATKEY, *arguments], capture_output=True, text=True, env=environ, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode != status or words not in " ".join(said.split()):
        expected = f"{status} and {words!r}"
        raise BaseError(f"`chatkey {' '.join(arguments)}` ended with {done.returncode}; expected {expected}:\n{said}")


if __name__ == "__main__":
    main()
