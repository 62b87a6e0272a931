"""The command-line options of the harness. pytest-playwright's own options select browsers and saved files."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from chatkey_stack.patience import PATIENCE, seconds

Traces = Literal["full", "steps"]


@dataclass(frozen=True, slots=True)
class Options:
    traces: Traces
    timings: Path | None
    results: Path | None
    target: Path | None
    patience: float
    """Timeout in seconds for one step of a scenario."""

    @property
    def step(self) -> float:
        """The same, or 0 for no timeout while a person looks through Playwright's inspector."""
        return 0 if os.environ.get("PWDEBUG") else self.patience


def add(parser: pytest.Parser) -> None:
    group = parser.getgroup("chatkey", "chatkey: real browsers against a real stack")
    group.addoption(
        "--chatkey-traces",
        choices=("full", "steps"),
        default="full",
        help="what --tracing retain-on-failure records of the harness's tests: everything, or only the steps, "
        "which is a third faster (default: %(default)s)",
    )
    group.addoption(
        "--chatkey-patience",
        metavar="SECONDS",
        type=seconds,
        default=PATIENCE,
        help="timeout of one step of the harness's tests (default: CHATKEY_PATIENCE, now %(default)g)",
    )
    group.addoption(
        "--chatkey-target",
        metavar="FILE",
        help="TARGET.toml of another service, or widget.toml of another widget",
    )
    group.addoption("--chatkey-results", metavar="FILE", help="write the result of each scenario to this file")
    group.addoption("--chatkey-timings", metavar="FILE", help="write the duration of each step to this file")


def read(config: pytest.Config) -> Options:
    chosen = config.option
    folder = config.invocation_params.dir
    return Options(
        traces="full" if chosen.tracing == "on" else chosen.chatkey_traces,
        timings=folder / chosen.chatkey_timings if chosen.chatkey_timings else None,
        results=folder / chosen.chatkey_results if chosen.chatkey_results else None,
        target=folder / chosen.chatkey_target if chosen.chatkey_target else None,
        patience=chosen.chatkey_patience,
    )
