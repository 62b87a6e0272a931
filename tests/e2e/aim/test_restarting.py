"""Tests of restarting a target with the command in its TARGET.toml. Scenarios that restart the target must run last."""

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.e2e.aim.test_aim import TARGET

from chatkey_conform.grades.business import HarnessError
from chatkey_conform.target import Target, TargetError, read_target
from chatkey_e2e.aim import applicable
from chatkey_e2e.aim.aim import take_aim
from chatkey_e2e.aim.restarting import restart
from chatkey_stack.ports import LOOPBACK, free_ports

pytest_plugins = ["pytester"]

ORDERED = """
import pytest

@pytest.mark.needs("restart")
def test_anew(): pass

def test_other(): pass

@pytest.mark.smoke
def test_first(): pass
"""


@pytest.fixture
def answering() -> Iterator[str]:
    """The address of a service that answers 501 to everything."""
    with HTTPServer((LOOPBACK, 0), BaseHTTPRequestHandler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def target(folder: Path, url: str, *command: str) -> Target:
    """Return a target with this address and this restart command."""
    path = folder / "TARGET.toml"
    text = TARGET.replace("https://10.0.0.7", url)
    path.write_text(text.replace("have =", f"restart = {list(command)!r}\nhave ="))
    return read_target(path)


def test_the_command_runs_in_the_folder_of_the_file_and_the_service_must_answer(tmp_path: Path, answering: str) -> None:
    restart(target(tmp_path, answering, sys.executable, "-c", "open('ran', 'x')"))

    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["./nowhere"], "could not be run"),
        ([sys.executable, "-c", "raise SystemExit('no such container')"], "status 1: no such container"),
        ([sys.executable, "-c", ""], "did not respond within 0.2 s after"),
    ],
    ids=["not-there", "failed", "stays-away"],
)
def test_a_restart_that_fails_is_reported(tmp_path: Path, command: list[str], said: str) -> None:
    (port,) = free_ports(1)

    with pytest.raises(HarnessError, match=said):
        restart(target(tmp_path, f"http://{LOOPBACK}:{port}", *command), patience=0.2)


def test_a_restart_command_declares_the_capability_and_the_capability_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_1", "s" * 32)
    path = tmp_path / "TARGET.toml"
    target(tmp_path, "http://10.0.0.7", "./again")

    assert "restart" in take_aim(path).have

    path.write_text(TARGET.replace('"search"', '"restart"'))
    with pytest.raises(TargetError, match=r"target\.restart must be the command"):
        take_aim(path)


def test_the_smoke_comes_first_and_a_restart_last(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_1", "s" * 32)
    target(tmp_path, "http://10.0.0.7", "./again")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\nmarkers = smoke\n needs")
    items = pytester.getitems(ORDERED)

    applicable.leave_out(items, take_aim(tmp_path / "TARGET.toml").have)

    assert [item.name for item in items] == ["test_first", "test_other", "test_anew"]
