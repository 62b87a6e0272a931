"""Names that are only shown: one rule for them, in tokens, frames and what social providers say (D-11)."""

from __future__ import annotations

import re
from typing import Final

NO_TEXT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
"""What no line of text has: controls, line ends, and halves of characters."""


def one_line(name: str | None) -> str | None:
    """Return a name as one line of text, or None if it shows nothing. What is no text becomes a space."""
    return NO_TEXT.sub(" ", name).strip() or None if name else None
