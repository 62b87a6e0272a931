"""Compresses the built files once, at the highest level, so that the server does not have to compress them."""

from __future__ import annotations

import gzip
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

WORTH = 0.9
"""The largest ratio of compressed to original size at which a compressed copy is kept."""


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _zstd(content: bytes) -> bytes:
    # Level 19 uses a window of at most 8 MiB, the largest that browsers accept (RFC 9659).
    return zstd.compress(content, level=19)


FORMS = {".zst": _zstd, ".gz": _gzip}


def compress(files: list[Path]) -> None:
    """Write the compressed copies `<name>.zst` and `<name>.gz` next to each file.

    Files are compressed in parallel, largest first.
    """
    jobs = [(file, suffix) for file in sorted(files, key=_size, reverse=True) for suffix in FORMS]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda job: _compress(*job), jobs))


def _compress(file: Path, suffix: str) -> None:
    content = file.read_bytes()
    compressed = FORMS[suffix](content)
    if len(compressed) < WORTH * len(content):
        file.with_name(file.name + suffix).write_bytes(compressed)


def _size(file: Path) -> int:
    return file.stat().st_size
