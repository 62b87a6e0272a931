"""Prepares text that a person typed or pasted, or that a script entered, so that the service can accept it."""

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"

_UNSENDABLE: Final = re.compile("[\0\ud800-\udfff]")
"""NUL and unpaired surrogates. No service can store them: the first is refused, the others have no UTF-8."""

_INVISIBLE: Final = re.compile(
    "[\\s\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)
"""White space, controls, and the characters that fonts do not show (Unicode's Default_Ignorable_Code_Point)."""


def tidy(text: str) -> str:
    """Return a text without white space at both ends, in which every character can be sent.

    Characters that cannot be sent become U+FFFD. A text of invisible characters is empty.
    """
    text = _UNSENDABLE.sub(REPLACEMENT, text).strip()
    return "" if _INVISIBLE.fullmatch(text) else text
