"""Tests of how response bodies are decompressed, up to a maximum size."""

from __future__ import annotations

import gzip
import zlib

import pytest

from chatkey_check.wire.decoding import Undecodable, unpacked

TEXT = b"every word of it"


def bare(body: bytes) -> bytes:
    """Compress a body as raw deflate, without the zlib header."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


@pytest.mark.parametrize(
    ("body", "encodings"),
    [
        (TEXT, ""),
        (TEXT, "identity"),
        (gzip.compress(TEXT), "gzip"),
        (gzip.compress(TEXT), "X-Gzip"),
        (zlib.compress(TEXT), "deflate"),
        (bare(TEXT), "deflate"),
        (gzip.compress(TEXT[:5]) + gzip.compress(TEXT[5:]), "gzip"),
        (gzip.compress(TEXT) + bytes(8), "gzip"),
        (gzip.compress(zlib.compress(TEXT)), "deflate, gzip"),
    ],
    ids=["plain", "identity", "gzip", "x-gzip", "deflate", "bare", "in two parts", "with zeros behind", "twice"],
)
def test_a_compressed_body_is_decompressed(body: bytes, encodings: str) -> None:
    assert unpacked(body, encodings, 1000) == TEXT


def test_a_body_that_does_not_match_its_encoding_is_refused() -> None:
    with pytest.raises(Undecodable):
        unpacked(TEXT, "gzip", 1000)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_decompression_stops_at_the_limit_even_with_nested_encodings(times: int) -> None:
    bomb = bytes(5_000_000)
    for _ in range(times):
        bomb = gzip.compress(bomb)

    made = unpacked(bomb, ", ".join(["gzip"] * times), 100_000)

    assert made == bytes(100_000)
