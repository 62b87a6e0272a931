"""Tests of our widget in a browser with the sample service in Node."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

PROJECT = Path(__file__).parent / "project"


def test_the_unchanged_widget_passes_its_scenarios(tmp_path: Path) -> None:
    """The widget must pass the tests for visitor, custom login, social login and renewal."""
    faulthandler.cancel_dump_traceback_later()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = (sys.executable, "-m", "pytest", "--output", str(tmp_path / "results"), "-p", "no:cacheprovider", ".")

    done = subprocess.run(
        command, cwd=PROJECT, env=kept, capture_output=True, text=True, check=False, timeout=20 * PATIENCE
    )

    assert done.returncode == 0, done.stdout + done.stderr
