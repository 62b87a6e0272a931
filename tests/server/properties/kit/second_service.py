"""Asks the service in Node for verdicts. That service was written from the published pages."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import IO, Any, Final, cast

from tests.node import NODE

_SCRIPT: Final = Path(__file__).with_name("verdicts.mjs")


def ask(about: str, **asked: Any) -> dict[str, Any]:
    """Return `{"answer": …}`, or `{"refused": code}`."""
    process = _process()
    cast("IO[str]", process.stdin).write(f"{json.dumps({'about': about, **asked})}\n")
    cast("IO[str]", process.stdin).flush()
    verdict: dict[str, Any] = json.loads(cast("IO[str]", process.stdout).readline())
    return verdict


@cache
def _process() -> subprocess.Popen[str]:
    """Start Node, unless it runs already. Node ends with this process, because Node's standard input is closed then."""
    return subprocess.Popen([NODE, str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
