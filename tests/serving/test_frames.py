"""Tests that the server finds the end of each frame (RFC 6455 5.2)."""

from __future__ import annotations

import pytest
from websockets.frames import Frame, Opcode

from chatkey_serving.frames import LengthError, end_of_frame

MOST = 70_000


def frame(size: int, *, mask: bool = True) -> bytes:
    return Frame(Opcode.TEXT, b"x" * size).serialize(mask=mask)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, MOST])
@pytest.mark.parametrize("mask", [True, False])
def test_a_frame_ends_where_the_library_ends_it(size: int, mask: bool) -> None:
    whole = frame(size, mask=mask)

    assert end_of_frame(whole + b"more", MOST) == len(whole)
    assert [end_of_frame(whole[:cut], MOST) for cut in (0, 1, 2, 3, len(whole) - 1) if cut < len(whole)].count(
        None
    ) >= 2
    assert end_of_frame(whole[:-1], MOST) is None


def test_the_header_of_a_frame_that_is_too_large_is_enough() -> None:
    assert end_of_frame(frame(MOST + 1)[:10], MOST) == 10


@pytest.mark.parametrize("header", [b"\x81\xfe\x00\x7d", b"\x81\xff" + (65_535).to_bytes(8), b"\x81\xff" + bytes(8)])
def test_a_length_that_is_not_in_its_shortest_form_is_refused(header: bytes) -> None:
    with pytest.raises(LengthError, match="the length is not in its shortest form"):
        end_of_frame(header, MOST)
