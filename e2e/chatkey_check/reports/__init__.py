"""The formats of a report. A format is a module of this package with a function `write(report) -> str`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chatkey_check.model import Report

TERMINAL: Final = "terminal"
NAMES: Final[tuple[str, ...]] = ("json", "junit", "html", "markdown")


def writer(name: str) -> Callable[[Report], str]:
    """Import and return the `write` function of a format."""
    write: Callable[[Report], str] = import_module(f"{__name__}.{name}").write
    return write
