"""The harness's command-line options, and where it writes what it keeps."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from chatkey_stack.patience import PATIENCE, seconds

Tracing = Literal["off", "on", "retain-on-failure"]
RESULTS = "e2e-results"


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line."""

    browser: str | None
    headed: bool
    trace: Tracing
    results: Path
    timings: Path | None
    patience: float
    """Seconds that one step of a scenario may take before it has failed."""


def add(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("chatkey", "chatkey: real browsers against a real stack")
    group.addoption("--chatkey-browser", metavar="KIND|PATH", help="browser to drive, as CHATKEY_BROWSER")
    group.addoption("--chatkey-headed", action="store_true", help="show the browser")
    group.addoption(
        "--chatkey-trace",
        choices=("off", "on", "retain-on-failure"),
        default="retain-on-failure",
        help="when to keep a Playwright trace (default: %(default)s, of the steps; `on` adds pages and network)",
    )
    group.addoption("--chatkey-results", metavar="FOLDER", default=RESULTS, help="default: %(default)s")
    group.addoption(
        "--chatkey-patience",
        metavar="SECONDS",
        type=seconds,
        default=PATIENCE,
        help="how long one step may take (default: CHATKEY_PATIENCE, now %(default)g)",
    )
    group.addoption("--chatkey-timings", metavar="FILE", help="write there how long everything took")


def read(config: pytest.Config) -> Options:
    """Return the options of this run."""
    chosen = config.option
    folder = config.invocation_params.dir
    return Options(
        browser=chosen.chatkey_browser or os.environ.get("CHATKEY_BROWSER") or None,
        headed=chosen.chatkey_headed,
        trace=chosen.chatkey_trace,
        results=folder / chosen.chatkey_results,
        timings=folder / chosen.chatkey_timings if chosen.chatkey_timings else None,
        patience=chosen.chatkey_patience,
    )
