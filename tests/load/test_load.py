"""Runs Locust briefly against a real server. All messages must be acknowledged and delivered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("locust") is None, reason="Locust is not installed: `pip install 'chatkey[load]'`"),
]

ROOT: Final = Path(__file__).parents[2]
SHORT: Final = ("--users", "6", "--run-time", "10s", "--json", "--only-summary")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("CHATKEY_", "LOCUST_"))}
    command = [sys.executable, "-m", "benchmarks.load", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=4 * PATIENCE
    )


def test_every_message_is_acknowledged_and_seen() -> None:
    done = run(*SHORT)

    assert done.returncode == 0, done.stderr + done.stdout
    figures = {entry["name"]: entry for entry in json.loads(done.stdout)}
    counts = {name: entry["num_requests"] for name, entry in figures.items()}
    assert [entry["num_failures"] for entry in figures.values()] == [0] * len(figures)
    assert counts["connect"] == 6
    assert counts["message acknowledged"] == counts["message seen by an agent"] >= 5
    assert counts["answer acknowledged"] == counts["answer seen by a widget"] > 0


def test_an_unreachable_server_is_reported_as_a_failure() -> None:
    (port,) = free_ports(1)

    done = run("--host", f"http://localhost:{port}", "--provider", "shop", "--users", "2", "--run-time", "3s", "--json")

    assert done.returncode == 1
    figures = {entry["name"]: entry for entry in json.loads(done.stdout)}
    assert figures["configuration"]["num_failures"] == figures["configuration"]["num_requests"] > 0
    assert "message acknowledged" not in figures
