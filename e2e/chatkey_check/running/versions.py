"""What a report says about the programs that made it."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Return the versions of chatkey, Python and the HTTP client."""
    return {"chatkey": version("chatkey"), "python": platform.python_version(), "httpx": version("httpx")}
