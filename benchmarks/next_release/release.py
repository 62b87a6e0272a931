"""An imagined next release of the server: a copy of this release with new columns and their migrations."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import chatkey_server

PACKAGE: Final = Path(chatkey_server.__file__).parent
MIGRATIONS: Final = Path(__file__).with_name("migrations")
COLUMNS: Final = {
    "sent_at = BigInt()": 'language = Varchar(length=8, default="")',
    "answered_by = Varchar(length=64, null=True, default=None)": "first_at = BigInt(null=True, default=None)",
}
"""Existing columns of `tables.py`, and the column that the next release adds after each."""


def next_release(folder: Path) -> dict[str, str]:
    """Create the next release in a folder. Returns the environment variables with which Python imports this release."""
    copy = folder / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(MIGRATIONS, copy / "storage" / "migrations", dirs_exist_ok=True)
    tables = copy / "storage" / "tables.py"
    text = tables.read_text()
    for column, added in COLUMNS.items():
        if text.count(column) != 1:
            raise ValueError(f"{tables} has the column {column!r} {text.count(column)} times instead of once")
        text = text.replace(column, f"{column}\n    {added}")
    tables.write_text(text)
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
