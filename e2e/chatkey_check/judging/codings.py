"""The encodings in which frameworks write sessions into cookies, read in layers: parts, base64, hex, zlib, escapes."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from chatkey_check.reading import TO_BASE64

SHORTEST: Final = 4
"""A shorter part could be decoded by chance."""
DEPTH: Final = 6
"""Most layers that are opened. Rails has five: parts, percent-encoding, base64, JSON, base64."""
SEPARATOR: Final = re.compile(r'--|[.:|~!&;,"{}\[\]\s]|(?<=[0-9a-fA-F]{32})-')
"""Separators between the parts of a session, such as content and signature. Play writes 40 hex digits and `-`."""


Write = Callable[[str], str]


class Reading(NamedTuple):
    """A text inside of a value. `write` returns the value with another text in the same place."""

    name: str
    text: str
    write: Write


def as_plain_text(text: str) -> str:
    return quote(text, safe="")


def as_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def as_hex(text: str) -> str:
    return text.encode().hex()


WRITTEN: Final[tuple[tuple[str, Write], ...]] = (
    ("as plain text", as_plain_text),
    ("as base64", as_base64),
    ("as hex", as_hex),
)
"""Ways in which a careless site writes an id into a cookie."""


def readings(value: str, depth: int = DEPTH) -> Iterator[Reading]:
    """Yield every readable text in a value: the value itself, its decoded forms, and those of its parts."""
    yield Reading("as plain text", value, lambda text: text)
    if depth:
        for outer in _opened(value):
            for inner in readings(outer.text, depth - 1):
                yield Reading(outer.name, inner.text, _first(inner.write, outer.write))
        for before, part, after in _parts(value):
            for inner in _decoded(part, depth - 1):
                yield Reading(inner.name, inner.text, _between(before, inner.write, after))


def _first(inner: Write, outer: Write) -> Write:
    return lambda text: outer(inner(text))


def _between(before: str, write: Write, after: str) -> Write:
    return lambda text: f"{before}{write(text)}{after}"


def _decoded(part: str, depth: int) -> Iterator[Reading]:
    """Yield the readings of a part, except the part as it is."""
    readable = readings(part, depth)
    next(readable)
    yield from readable


def _parts(value: str) -> Iterator[tuple[str, str, str]]:
    """Yield each part between separators, with the text before it and after it; none if there is no separator."""
    cuts = [(0, 0), *(found.span() for found in SEPARATOR.finditer(value)), (len(value), len(value))]
    if len(cuts) > 2:
        for (_, start), (end, _) in pairwise(cuts):
            if end - start >= SHORTEST:
                yield value[:start], value[start:end], value[end:]


def _opened(value: str) -> Iterator[Reading]:
    """Yield the ways in which the whole value can be decoded to a readable text."""
    if "%" in value and unquote(value) != value:
        yield Reading("as plain text", unquote(value), as_plain_text)
    for name, decode, encode in (("as base64", _unbase64, _rebase64), ("as hex", bytes.fromhex, _rehex)):
        try:
            raw = decode(value)
        except (ValueError, binascii.Error):
            continue
        for pack, unpack in PACKED:
            try:
                text = unpack(raw).decode()
            except (ValueError, OSError, EOFError, zlib.error):
                continue
            if len(text) >= SHORTEST and all(char.isprintable() or char.isspace() for char in text):
                yield Reading(name, text, _packed(encode, pack, value))


def _packed(encode: Callable[[bytes, str], str], pack: Callable[[bytes], bytes], like: str) -> Write:
    return lambda text: encode(pack(text.encode()), like)


def _deflated(raw: bytes) -> bytes:
    return zlib.compress(raw)[2:-4]


def _inflated(raw: bytes) -> bytes:
    return zlib.decompress(raw, -zlib.MAX_WBITS)


PACKED: Final[tuple[tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]], ...]] = (
    (bytes, bytes),
    (zlib.compress, zlib.decompress),
    (gzip.compress, gzip.decompress),
    (_deflated, _inflated),
)


def _unbase64(value: str) -> bytes:
    if len(value) < SHORTEST:
        raise ValueError("too short to be told from a word")
    text = value.translate(TO_BASE64).rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def _rebase64(raw: bytes, like: str) -> str:
    """Encode in the alphabet and with the padding of another text."""
    text = base64.b64encode(raw).decode()
    if not (set("+/") & set(like)):
        text = text.translate(str.maketrans("+/", "-_")) if set("-_") & set(like) or "=" not in like else text
    return text if len(like) % 4 == 0 else text.rstrip("=")


def _rehex(raw: bytes, like: str) -> str:
    return raw.hex().upper() if like != like.lower() else raw.hex()
