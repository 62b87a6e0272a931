"""Tests that commands with private keys leave no key on disk, whichever signal ends the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chatkey_stack.patience import PATIENCE

RUN = """
import runpy, signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` and a shell's background jobs begin with these two ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("chatkey", run_name="__main__")
"""
FAKE_OAUTH = ("fake-oauth", "--tls", "--port", "0")
COMMANDS = [
    pytest.param(FAKE_OAUTH, id="fake-oauth"),
    pytest.param(("stack",), id="stack", marks=pytest.mark.long),
    pytest.param(("demo", "--tls", "--no-browser", "--port", "0"), id="demo", marks=pytest.mark.long),
]
ENDINGS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@contextmanager
def started(folder: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    environ = {**os.environ, "TMPDIR": str(folder)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", RUN, *command], env=environ, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], ending: signal.Signals) -> int:
    process.send_signal(ending)
    process.communicate(timeout=PATIENCE)
    return process.returncode


def exposed(folder: Path) -> list[Path]:
    """Return the files in `folder` that contain a private key and that other users can read."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    keys = [file for file in files if b"BEGIN PRIVATE KEY" in file.read_bytes() or b"EC PRIVATE" in file.read_bytes()]
    return [file for file in keys if file.stat().st_mode & 0o077 or file.parent.stat().st_mode & 0o077]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_told_to_end_leaves_nothing(
    tmp_path: Path, command: tuple[str, ...], ending: signal.Signals
) -> None:
    with started(tmp_path, *command) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        while_it_ran = exposed(tmp_path)
        status = ended(process, ending)

    assert while_it_ran == []
    assert status == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_a_command_that_is_ended_during_its_start_leaves_nothing(tmp_path: Path, ending: signal.Signals) -> None:
    with started(tmp_path, *FAKE_OAUTH) as process:
        ends_at = time.monotonic() + PATIENCE
        while not list(tmp_path.glob("*/*")):
            assert time.monotonic() < ends_at

        ended(process, ending)

    assert list(tmp_path.iterdir()) == []


def test_the_fake_provider_has_no_private_key_on_disk_even_if_it_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, *FAKE_OAUTH) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready https://")
        ended(process, signal.SIGKILL)

    (folder,) = tmp_path.iterdir()
    assert [file.name for file in folder.iterdir()] == ["ca.pem"]


@pytest.mark.long
def test_a_folder_that_is_kept_holds_no_private_key_at_the_end(tmp_path: Path) -> None:
    with started(tmp_path, "stack", "--folder", str(tmp_path / "kept")) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        ended(process, signal.SIGTERM)

    assert (tmp_path / "kept" / "ca.pem").exists()
    assert not (tmp_path / "kept" / "key.pem").exists()
