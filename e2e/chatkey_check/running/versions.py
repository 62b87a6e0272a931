"""Lists the versions of the programs that produced a report."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    return {"chatkey": version("chatkey"), "python": platform.python_version(), "httpx": version("httpx")}
