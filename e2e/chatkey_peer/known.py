"""Reads a file of known failures: an id and a reason on each line."""

from __future__ import annotations

from pathlib import Path


class KnownError(ValueError):
    """The file of known failures cannot be used. The message says why, and in which line."""


def read_known(path: Path) -> dict[str, str]:
    """Return the reasons from a file with one `id: reason` on each line. `#` begins a comment. Raises `KnownError`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise KnownError(f"Cannot read the file of known failures: {error}") from error
    reasons: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, _, reason = (part.strip() for part in text.partition(": "))
        if not reason:
            raise KnownError(f"{path}, line {number}: write the id, a colon and the reason, not {text!r}.")
        if name in reasons:
            raise KnownError(f"{path}, line {number}: {name} is listed twice.")
        reasons[name] = reason
    return reasons
