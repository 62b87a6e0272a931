"""Content negotiation: selects the encoding in which a file is sent (RFC 9110 12.5.3)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

PREFERRED: Final = ("zstd", "gzip")
"""Best first. A zstd file is smaller than a gzip file, and browsers read it faster than gzip or the plain file."""

IDENTITY: Final = "identity"


def choose(accept: str, available: Collection[str]) -> str:
    """Return the best available encoding that an Accept-Encoding header allows, or `identity`.

    A weight only decides whether an encoding is allowed. The order of preference is `PREFERRED`.
    """
    allowed = _allowed(accept)
    for encoding in PREFERRED:
        if encoding in available and allowed.get(encoding, allowed.get("*", False)):
            return encoding
    return IDENTITY


def _allowed(accept: str) -> dict[str, bool]:
    """Return each coding in the header, and whether the weight of the coding is above zero."""
    allowed = {}
    for item in accept.lower().split(","):
        coding, _, weight = item.partition(";")
        allowed[coding.strip()] = _weight(weight) > 0
    return allowed


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
