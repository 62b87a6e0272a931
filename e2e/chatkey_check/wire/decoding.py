"""Unpacks bodies, and never into more than they may hold: a few kilobytes can be gigabytes, and packed twice."""

from __future__ import annotations

import zlib
from typing import Final

EITHER: Final = 47
"""zlib's word for: gzip or zlib, as the beginning says."""
BARE: Final = -15
"""zlib's word for deflate without a header, which some servers mean by `deflate`."""


class Undecodable(ValueError):
    """A body that is not packed as it says."""


def unpacked(body: bytes, encodings: str, most: int) -> bytes:
    """Return the first `most` bytes of a body with these Content-Encodings. Raises `Undecodable`."""
    for encoding in reversed([name.strip().lower() for name in encodings.split(",")]):
        if encoding in {"gzip", "x-gzip", "deflate"}:
            body = _inflated(body, most)
    return body[:most]


def _inflated(body: bytes, most: int) -> bytes:
    """Unpack gzip, of which several may stand one behind the other, or deflate."""
    whole = bytearray()
    rest = body
    while rest and len(whole) < most:
        one = zlib.decompressobj(EITHER if _has_header(rest) else BARE)
        try:
            whole += one.decompress(rest, most - len(whole))
        except zlib.error as error:
            if whole:  # what follows a whole member is padding
                break
            raise Undecodable(str(error)) from error
        rest = one.unused_data if one.eof else b""
    return bytes(whole)


def _has_header(body: bytes) -> bool:
    gzip = body.startswith(b"\x1f\x8b")
    return gzip or (len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0)  # RFC 1950 2.2
