"""Prepares text from outside for storage and for searching."""

from __future__ import annotations

import unicodedata
from typing import Final

MOST_MARKS: Final = 30
"""The most combining marks in a row. Ordering them takes quadratic time (UAX 15, 13)."""


def fit(text: str | None, length: int) -> str | None:
    """Shorten a displayed text to the length of its column, and remove NUL characters."""
    if text is None:
        return None
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:length]


def fold(text: str) -> str:
    """Return a text in searchable form, which ignores letter case and the encoding of accents."""
    return unicodedata.normalize("NFC", text if text.isascii() else _with_few_marks(text)).casefold()


def containing(text: str) -> str:
    """Return a pattern for `LIKE … ESCAPE '!'` that matches every folded text that contains `text`."""
    escaped = fold(text).replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"


def _with_few_marks(text: str) -> str:
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)
