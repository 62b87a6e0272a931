"""Text from outside, made to fit a column."""

from __future__ import annotations


def fit(text: str | None, length: int) -> str | None:
    """Return what a column of this length can hold of a text that is only shown: without NUL, cut off at the end."""
    if text is None:
        return None
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:length]
