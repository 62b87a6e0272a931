"""How a run ends: with a real socket, and with a real widget in a browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

RESULTS: Final = Path("check-results")


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What the end of a run may use; where nothing of it is given, it is left out."""

    service_url: str | None = None
    """Base address of a service that runs; otherwise the reference server is started."""
    browser: bool = False
    by_hand: bool = False
    """Whether somebody logs in by hand, in a browser that can be seen."""
    results: Path = RESULTS
    """Where traces and screenshots of failures go."""
