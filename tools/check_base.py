"""Checks the base installation of the wheel, without extras: the fake provider and `chatkey check`.

Run it with the Python in which the wheel is installed.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process

SCRIPTS: Final = Path(sysconfig.get_path("scripts"))
CHATKEY: Final = str(SCRIPTS / "chatkey")
EXAMPLES: Final = Path(__file__).parents[1] / "docs" / "integrators" / "examples"
SERVE: Final = """
import socket, sys
from chatkey_serving.server import Server
from chatkey_serving.site import Site
sys.path.insert(0, sys.argv[1])
from litestar_backend import app
Server(Site(app=app), lambda: None).run([socket.create_server(("127.0.0.1", int(sys.argv[2])))])
"""
"""A program that serves a reference backend. The base has no uvicorn."""
"""A reference backend that needs only the base dependencies."""
PATIENCE_SECONDS: Final = 60
MOST_PACKAGES: Final = 35
MOST_MEGABYTES: Final = 75
"""The largest base. Whoever needs only the fake provider or the checker installs no more than this."""


class BaseError(Exception):
    """The base installation is not what users should get. The message says why."""


def main() -> None:
    """Check the base that is installed in this Python."""
    with tempfile.TemporaryDirectory(prefix="chatkey-base-") as folder:
        os.chdir(folder)  # so that nothing is imported from the checkout
        check_extras()
        check_fake_oauth(Path(folder))
        check_check(Path(folder))
    check_size()


def check_size() -> None:
    size = f"without extras: {len(packages())} packages, {megabytes():.0f} MB"
    if len(packages()) > MOST_PACKAGES or megabytes() > MOST_MEGABYTES:
        raise BaseError(f"{size}; at most {MOST_PACKAGES} packages and {MOST_MEGABYTES} MB are allowed")
    sys.stdout.write(f"{size}\n")


def packages() -> list[Distribution]:
    return list(Distribution.discover(path=[sysconfig.get_path("purelib")]))


def megabytes() -> float:
    """Return the size of the installed packages, including compiled bytecode."""
    return sum(path.stat().st_size for path in Path(sysconfig.get_path("purelib")).rglob("*") if path.is_file()) / 1e6


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


def check_check(folder: Path) -> None:
    """Check that a reference backend passes every check over HTTP, and that skipped checks name the missing extra."""
    (port,) = free_ports(1)
    secret, password = secrets.token_hex(16), secrets.token_hex(8)
    environ = os.environ | {"CHAT_PROVIDER_ID": "prov_base", "CHAT_SECRET_KEY": secret, "LOGIN_PASSWORD": password}
    serve = [sys.executable, "-c", SERVE, str(EXAMPLES), str(port)]
    shop = f"http://{LOOPBACK}:{port}"
    check = ["check", f"{shop}/chat/token", "--provider-id", "prov_base", "--secret-env", "CHAT_SECRET_KEY"]
    check += ["--login-url", f"{shop}/login"]
    check += ["--login-field", "user=ada", "--login-field-env", "password=LOGIN_PASSWORD"]
    check += ["--login-field-b", "user=bo", "--login-field-env-b", "password=LOGIN_PASSWORD"]
    log = folder / "shop.log"
    with log.open("w") as output, subprocess.Popen(serve, env=environ, stdout=output, stderr=output) as server:  # noqa: S603
        try:
            _wait_for(server, port, log)
            _expect(0, "pip install 'chatkey[server]'", *check, environ=environ)
            _expect(8, "pip install 'chatkey[browser]'", *check, "--browser", environ=environ)
        finally:
            server.terminate()


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while server.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection((LOOPBACK, port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise BaseError(f"the reference backend did not start:\n{log.read_text()}")


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
