"""Reads the file of known failures: `[[known]]` entries with the `id` of a sentence or a case, and a `reason`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from chatkey_conform.target import TargetError


def read_known(path: Path | None) -> dict[str, str]:
    """Return the reasons of the known failures by id. Raises `TargetError`."""
    if path is None:
        return {}
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("known", [])
        known = {entry["id"]: entry["reason"] for entry in entries}
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise TargetError(f"{path}: every [[known]] needs an id and a reason ({error}).") from None
    if empty := [key for key, reason in known.items() if not str(reason).strip()]:
        raise TargetError(f"{path}: {empty[0]} has no reason.")
    return known
