"""Default values of options."""

from __future__ import annotations

from pathlib import Path
from typing import Final

TIMEOUT: Final = 10.0
"""Seconds in which an endpoint has to answer. The widget waits as long."""
RESULTS: Final = Path("check-results")
"""Folder for traces and screenshots of failures."""
