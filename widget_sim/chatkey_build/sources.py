"""The sources of the built files: their names, their hash, and a zip of them that a browser can import."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGES = ("chatkey_protocol", "chatkey_widget")
"""The packages that run in the page."""

ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can store. Every file gets this time, so that equal sources give equal bytes."""


def widget_files(widget_sim: Path) -> list[Path]:
    """Return every file of the packages that run in the page, sorted."""
    return sorted(file for package in PACKAGES for file in _files(widget_sim / package))


def snapshot_files(widget_sim: Path) -> list[Path]:
    """Return every file that can change the snapshot: the widget, the pinned Pyodide, and the script that imports the
    widget.
    """
    pinned = [widget_sim / "pyodide" / name for name in ("package-lock.json", "snapshot.mjs")]
    return [*widget_files(widget_sim), *pinned]


def everything(widget_sim: Path) -> list[Path]:
    """Return every file that can change the build: the files of the snapshot and of the page, and this builder."""
    return [*snapshot_files(widget_sim), *_files(widget_sim / "page"), *_files(widget_sim / "chatkey_build")]


def digest(root: Path, files: Iterable[Path]) -> str:
    """Return the SHA-256 of the files' names below `root` and of their contents, in hexadecimal."""
    total = hashlib.sha256()
    for file in sorted(files):
        name = file.relative_to(root).as_posix()
        total.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def pack(root: Path, files: Iterable[Path]) -> bytes:
    """Zip the files with their names below `root`. The same files always give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file in sorted(files):
            member = zipfile.ZipInfo(file.relative_to(root).as_posix(), ZIP_TIME)
            archive.writestr(member, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file
