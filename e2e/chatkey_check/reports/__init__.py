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
    """Import the `write` function of a format. Its result contains no text that a CI runner executes."""
    from chatkey_peer import runners  # noqa: PLC0415 - the pytest plugin needs only the names

    write: Callable[[Report], str] = import_module(f"{__name__}.{name}").write
    escapes = {"json": runners.as_json, "markdown": runners.marked}
    return lambda report: runners.harmless(write(report), escapes.get(name, runners.as_markup))
