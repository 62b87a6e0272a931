"""Finds where the first frame of a WebSocket stream ends (RFC 6455 5.2)."""

from __future__ import annotations

from typing import Final

LONGER: Final = {126: (4, 126), 127: (10, 65_536)}
"""For each 7-bit length that announces a longer field: where this field ends, and the smallest length it may hold."""


class LengthError(ValueError):
    """The length of a frame is not in its shortest form."""


def end_of_frame(data: bytes | bytearray, most: int) -> int | None:
    """Return the size of the first frame, or None if the frame is incomplete.

    If the frame announces more than `most` bytes, the result is the size of its header without the mask, because the
    frame must be refused before its content arrives. Raises `LengthError`.
    """
    if len(data) < 2:
        return None
    length, header = data[1] & 0x7F, 2
    if length in LONGER:
        header, least = LONGER[length]
        if len(data) < header:
            return None
        length = int.from_bytes(data[2:header], "big")
        if length < least:
            raise LengthError("the length is not in its shortest form")
    if length > most:
        return header
    mask = 4 if data[1] & 0x80 else 0
    end = header + mask + length
    return end if len(data) >= end else None
