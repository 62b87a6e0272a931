"""A pytest plugin that writes the failed tests to the file in `FAILED`, and gives each test a minute."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

SECONDS: Final = 60
ENOUGH: Final = 2
"""After so many failures, the other rows of a test function are left out."""

failures: Final[Counter[str]] = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    return failures[function_of(item.nodeid)] >= ENOUGH or None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        failures[function_of(report.nodeid)] += 1
        with Path(os.environ["FAILED"]).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")


def function_of(test: str) -> str:
    """Return the id of a test without its row."""
    return test.partition("[")[0]


def _late(*_: Any) -> None:
    raise TimeoutError(f"This test took longer than {SECONDS} s.")
