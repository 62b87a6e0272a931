"""Cleans names that are only displayed. One rule covers names in tokens, in frames and from social providers (D-11)."""

from __future__ import annotations

import re
from typing import Final

NO_TEXT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
"""Characters that one line of text cannot contain: controls, line ends and surrogates."""


def one_line(name: str | None) -> str | None:
    """Replace control characters, line ends and surrogates by spaces, and strip the name.

    Returns None for an empty result.
    """
    return NO_TEXT.sub(" ", name).strip() or None if name else None
