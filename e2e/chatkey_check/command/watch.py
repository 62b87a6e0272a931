"""Detects that files have changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from chatkey_check.wire.http import Unreachable

LEFT_OUT: Final = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache"})
EVERY: Final = 0.3
"""Seconds between two looks at the files."""

LOOKS: Final = 30
"""How often to look before going on, even if the files still change or the endpoint is still down."""

Stamp = tuple[int, int]


def stamps(paths: Iterable[Path]) -> dict[str, Stamp]:
    """Return the modification time and size of every file at or below the paths."""
    return {file: stamp for path in paths for file, stamp in _files(path)}


def changed(
    paths: Iterable[Path], before: dict[str, Stamp], *, sleep: Callable[[float], None] = time.sleep
) -> list[str]:
    """Wait until files differ from `before` and have stopped changing. Return the names of the changed files."""
    paths = list(paths)
    while (now := stamps(paths)) == before:
        sleep(EVERY)
    for _ in range(LOOKS):  # bounded, because a log file may change all the time
        sleep(EVERY)
        later = stamps(paths)
        if later == now:
            break
        now = later
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def wait_until_up(
    reach: Callable[[], object], *, sleep: Callable[[float], None] = time.sleep, looks: int = LOOKS
) -> None:
    """Wait a few seconds until a restarted backend listens again.

    A backend that stays away is reported by the next run.
    """
    for _ in range(looks):
        try:
            reach()
        except Unreachable:
            sleep(EVERY)
        else:
            return


def _files(path: Path) -> Iterator[tuple[str, Stamp]]:
    if path.is_file():
        yield from _stamped(path)
        return
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in names:
            yield from _stamped(Path(folder) / name)


def _stamped(file: Path) -> Iterator[tuple[str, Stamp]]:
    try:
        found = file.stat()
    except OSError:  # deleted after it was listed
        return
    yield str(file), (found.st_mtime_ns, found.st_size)
