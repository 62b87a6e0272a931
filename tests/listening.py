"""Runs servers of others, which are found on PATH and do not say when they are ready."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK

POLL_SECONDS = 0.02


def program(name: str, package: str = "") -> str:
    """Return the path of a program. If there is none, skip the calling test and name the Debian package to install."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not on this machine: `apt-get install {package or name}` brings it")
    return found


@contextmanager
def listening(command: Sequence[str], port: int, log: Path, **options: Any) -> Iterator[None]:
    """Run a server until the block ends. The block begins when the server accepts connections at the port.

    `options` are passed to `Popen`. `log` gets the output.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, **options)
    try:
        ends_at = time.monotonic() + PATIENCE
        while not _accepts(port):
            assert process.poll() is None, f"{command[0]} ended:\n{log.read_text()}"
            assert time.monotonic() < ends_at, f"{command[0]} does not listen:\n{log.read_text()}"
            time.sleep(POLL_SECONDS)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0
