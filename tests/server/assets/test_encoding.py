"""Tests how the server chooses the content encoding (RFC 9110 12.5.3)."""

from __future__ import annotations

import pytest

from chatkey_server.assets.encoding import choose

BOTH = ("identity", "gzip", "zstd")


@pytest.mark.parametrize(
    ("accept", "available", "chosen"),
    [
        ("zstd, gzip", BOTH, "zstd"),
        ("gzip;q=1.0, zstd;q=0.1", BOTH, "zstd"),
        ("GZIP, ZSTD", BOTH, "zstd"),
        ("gzip ; q=0.5", BOTH, "gzip"),
        ("zstd;q=0, gzip", BOTH, "gzip"),
        ("*", BOTH, "zstd"),
        ("*;q=0, gzip", BOTH, "gzip"),
        ("zstd;q=0, *", BOTH, "gzip"),
        ("zstd;q=none", BOTH, "identity"),
        ("zstdx", BOTH, "identity"),
        ("identity", BOTH, "identity"),
        ("", BOTH, "identity"),
        (",,;", BOTH, "identity"),
        ("zstd, gzip", ("identity",), "identity"),
        ("zstd, gzip", ("identity", "gzip"), "gzip"),
    ],
)
def test_the_best_allowed_encoding_is_chosen(accept: str, available: tuple[str, ...], chosen: str) -> None:
    assert choose(accept, available) == chosen
