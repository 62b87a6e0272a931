"""Decompresses bodies up to a maximum size, because a few kilobytes can decompress to gigabytes."""

from __future__ import annotations

import zlib
from typing import Final

EITHER: Final = 47
"""The `wbits` value of zlib that accepts both gzip and zlib, depending on the header."""
BARE: Final = -15
"""The `wbits` value of zlib for deflate without a header, which some servers send as `deflate`."""


class Undecodable(ValueError):
    """A body is not compressed in the way that its Content-Encoding says."""


def unpacked(body: bytes, encodings: str, most: int) -> bytes:
    """Return the first `most` bytes of a body, decompressed. Raises `Undecodable`."""
    for encoding in reversed([name.strip().lower() for name in encodings.split(",")]):
        if encoding in {"gzip", "x-gzip", "deflate"}:
            body = _inflated(body, most)
    return body[:most]


def _inflated(body: bytes, most: int) -> bytes:
    """Decompress deflate, or gzip, which may consist of several members in a row."""
    whole = bytearray()
    rest = body
    while rest and len(whole) < most:
        one = zlib.decompressobj(EITHER if _has_header(rest) else BARE)
        try:
            whole += one.decompress(rest, most - len(whole))
        except zlib.error as error:
            if whole:  # data after a complete member is padding
                break
            raise Undecodable(str(error)) from error
        rest = one.unused_data if one.eof else b""
    return bytes(whole)


def _has_header(body: bytes) -> bool:
    gzip = body.startswith(b"\x1f\x8b")
    return gzip or (len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0)  # RFC 1950 2.2
