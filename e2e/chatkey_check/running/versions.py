"""The versions of the programs that produced a report."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Return the versions of chatkey, Python and the HTTP client."""
    return {"chatkey": version("chatkey"), "python": platform.python_version(), "httpx": version("httpx")}
