"""Texts that a program wrote where it meant a value."""

from __future__ import annotations

import re

WHOLE = re.compile(
    r"\{.*:.*\}|\[object \w+\]|#?<[\w.]+[ :].*>|(?:ObjectId|Symbol|UUID)\(.*\)|b'.*'|b\".*\"|\w+ object \(.+\)"
    r"|(?:Optional|Some)[\[(].*[\])]|(?:async )?function\b[^(]*\(.*|\(.*\) ?=>.*",
    re.DOTALL,
)
UNFILLED = re.compile(r"\{\{.*\}\}|[$#]\{.*\}|<%.*%>|%\(\w+\)s", re.DOTALL)


def whole(text: str) -> bool:
    """Tell whether a text is an object, a function or bytes as languages write them."""
    return WHOLE.fullmatch(text) is not None


def unfilled(text: str) -> bool:
    """Tell whether a text is a place in a template that no value was put into."""
    return UNFILLED.fullmatch(text.strip()) is not None
