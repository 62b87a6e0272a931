"""Text from outside, made to fit a column, and made to be found."""

from __future__ import annotations

import unicodedata
from typing import Final

MOST_MARKS: Final = 30
"""How many combining marks in a row count; to put them in order takes time squared (UAX 15, 13)."""


def fit(text: str | None, length: int) -> str | None:
    """Return what a column of this length can hold of a text that is only shown: without NUL, cut off at the end."""
    if text is None:
        return None
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:length]


def fold(text: str) -> str:
    """Return a text as it is searched: letter case and the spelling of accents do not count."""
    return unicodedata.normalize("NFC", text if text.isascii() else _with_few_marks(text)).casefold()


def containing(text: str) -> str:
    """Return the pattern, for `LIKE … ESCAPE '!'`, of every folded text that contains this one."""
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
