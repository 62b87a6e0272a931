"""How long harness and tests wait for what ought to come: generously, because a busy machine is slow and not wrong.

One number, `CHATKEY_PATIENCE` in seconds. A step that needs more than usual says so, as a multiple of it. What the
product itself waits for has numbers of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import click

VARIABLE: Final = "CHATKEY_PATIENCE"
USUAL: Final = 30.0


class PatienceError(click.UsageError, ValueError):
    """The variable holds no number of seconds; a command ends with this message and status 2."""


def patience(environ: Mapping[str, str] = os.environ) -> float:
    """Return the seconds of the variable, or the usual ones. Raises `PatienceError`."""
    given = environ.get(VARIABLE, "").strip()
    try:
        return seconds(given) if given else USUAL
    except ValueError:
        raise PatienceError(f"{VARIABLE} must be a number of seconds above 0, for instance {VARIABLE}=60") from None


def seconds(text: str) -> float:
    """Read a time that has an end. Raises `ValueError`."""
    read = float(text)
    if not 0 < read < float("inf"):
        raise ValueError(f"{text!r} is no time to wait")
    return read


PATIENCE: Final = patience()
