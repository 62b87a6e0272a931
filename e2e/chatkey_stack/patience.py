"""How long harness and tests wait for expected events. The time is generous, because a busy machine is slow.

`CHATKEY_PATIENCE` sets the time in seconds. A step that needs longer waits for a multiple of this time. The timeouts of
the product itself are not affected.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import click

VARIABLE: Final = "CHATKEY_PATIENCE"
USUAL: Final = 30.0


class PatienceError(click.UsageError, ValueError):
    """`CHATKEY_PATIENCE` is not a number of seconds. A command ends with this message and status 2."""


def patience(environ: Mapping[str, str] = os.environ) -> float:
    """Return the seconds in `CHATKEY_PATIENCE`, or the default. Raises `PatienceError`."""
    given = environ.get(VARIABLE, "").strip()
    try:
        return seconds(given) if given else USUAL
    except ValueError:
        raise PatienceError(f"{VARIABLE} must be a number of seconds above 0, for example {VARIABLE}=60") from None


def seconds(text: str) -> float:
    """Parse a positive, finite number of seconds. Raises `ValueError`."""
    read = float(text)
    if not 0 < read < float("inf"):
        raise ValueError(f"{text!r} is not a positive number of seconds")
    return read


def waiting_longer(waited: float) -> str:
    """Return the machine's load, which may be the cause of a time-out, and the settings with which to wait longer."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f" (the load of this machine is {load} on {os.cpu_count()} CPUs; to wait longer, use "
        f"--chatkey-patience {2 * waited:g} in pytest, or {VARIABLE}={2 * waited:g})"
    )


PATIENCE: Final = patience()
