"""Writes cookies as somebody could who knows another person's id: as it is, or encoded as sites do."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

DIGITS: Final = re.compile(r"\d+")
SHORTEST: Final = 2
"""A shorter id stands in a text by chance."""


class Coding(NamedTuple):
    """A way in which a text stands in a cookie: how it is read, and how it is written."""

    name: str
    read: Callable[[str], str]
    write: Callable[[str], str]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _unbase64(text: str) -> str:
    padded = unquote(text).translate(str.maketrans("-_", "+/")).rstrip("=")
    return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True).decode()


CODINGS: Final = (
    Coding("in clear", unquote, lambda text: quote(text, safe="")),
    Coding("as base64", _unbase64, _base64),
    Coding("as hex", lambda text: bytes.fromhex(text).decode(), lambda text: text.encode().hex()),
)


def forged(value: str, mine: Mapping[str, object], theirs: Mapping[str, object]) -> str:
    """Return a cookie's value with what it says of one person replaced by the same of another."""
    for coding, text in readings(value):
        for own, other in _pairs(mine, theirs):
            if own in text:
                return coding.write(text.replace(own, other))
    return value


def readings(value: str) -> Iterator[tuple[Coding, str]]:
    """Yield what a cookie's value says, in each of the codings in which it is a text."""
    for coding in CODINGS:
        try:
            text = coding.read(value)
        except (ValueError, binascii.Error):
            continue
        if text.isprintable():
            yield coding, text


def _pairs(mine: Mapping[str, object], theirs: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what is said of one person with what is said of the other: claims, and the number in the uid."""
    for name in ("uid", "email", "name"):
        own, other = mine.get(name), theirs.get(name)
        if isinstance(own, str) and isinstance(other, str) and len(own) >= SHORTEST:
            yield own, other
    numbers = [DIGITS.search(str(claims.get("uid"))) for claims in (mine, theirs)]
    if numbers[0] and numbers[1] and len(numbers[0][0]) >= SHORTEST:
        yield numbers[0][0], numbers[1][0]
