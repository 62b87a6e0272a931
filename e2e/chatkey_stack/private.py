"""Writes files that contain secrets."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import mkstemp


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read. Raises `OSError`.

    An existing file is replaced in one step and not overwritten, because other users may be able to read the existing
    file, or have it open.
    """
    descriptor, draft = mkstemp(prefix=f".{path.name}.", dir=path.parent)  # with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
