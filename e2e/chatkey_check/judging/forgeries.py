"""Forges cookies that name another person. Only the person's id is needed: as plain text, base64 or hex."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

DIGITS: Final = re.compile(r"\d+")
SHORTEST: Final = 2
"""A shorter id could occur in a text by chance."""


class Coding(NamedTuple):
    """An encoding of cookie values, with functions that decode and encode a text."""

    name: str
    read: Callable[[str], str]
    write: Callable[[str], str]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _unbase64(text: str) -> str:
    padded = unquote(text).translate(str.maketrans("-_", "+/")).rstrip("=")
    return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True).decode()


CODINGS: Final = (
    Coding("as plain text", unquote, lambda text: quote(text, safe="")),
    Coding("as base64", _unbase64, _base64),
    Coding("as hex", lambda text: bytes.fromhex(text).decode(), lambda text: text.encode().hex()),
)


def forged(value: str, mine: Mapping[str, object], theirs: Mapping[str, object]) -> str:
    """Return a cookie's value in which the details of one person are replaced by those of another person."""
    for coding, text in readings(value):
        for own, other in _pairs(mine, theirs):
            if own in text:
                return coding.write(text.replace(own, other))
    return value


def readings(value: str) -> Iterator[tuple[Coding, str]]:
    """Yield each encoding in which a cookie's value decodes to a text, together with the decoded text."""
    for coding in CODINGS:
        try:
            text = coding.read(value)
        except (ValueError, binascii.Error):
            continue
        if text.isprintable():
            yield coding, text


def _pairs(mine: Mapping[str, object], theirs: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield pairs of corresponding details of both persons: each claim, and the number in the uid."""
    for name in ("uid", "email", "name"):
        own, other = mine.get(name), theirs.get(name)
        if isinstance(own, str) and isinstance(other, str) and len(own) >= SHORTEST:
            yield own, other
    numbers = [DIGITS.search(str(claims.get("uid"))) for claims in (mine, theirs)]
    if numbers[0] and numbers[1] and len(numbers[0][0]) >= SHORTEST:
        yield numbers[0][0], numbers[1][0]
