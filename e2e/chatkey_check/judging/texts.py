"""Recognises text that a program has written in place of a value by mistake."""

from __future__ import annotations

import re

WHOLE = re.compile(
    r"\{.*:.*\}|\[object \w+\]|#?<[\w.]+[ :].*>|(?:ObjectId|Symbol|UUID)\(.*\)|b'.*'|b\".*\"|\w+ object \(.+\)"
    r"|(?:Optional|Some)[\[(].*[\])]|(?:async )?function\b[^(]*\(.*|\(.*\) ?=>.*",
    re.DOTALL,
)
UNFILLED = re.compile(r"\{\{.*\}\}|[$#]\{.*\}|<%.*%>|%\(\w+\)s", re.DOTALL)


def whole(text: str) -> bool:
    """Return whether a text is the printed form of an object, a function or bytes in some programming language."""
    return WHOLE.fullmatch(text) is not None


def unfilled(text: str) -> bool:
    """Return whether a text is a template placeholder that was never filled in."""
    return UNFILLED.fullmatch(text.strip()) is not None
