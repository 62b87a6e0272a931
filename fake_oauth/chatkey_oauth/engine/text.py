"""Functions that clean, compare and derive text. Input may contain bytes that are not UTF-8, as surrogate escapes."""

from __future__ import annotations

from base64 import b64decode
from binascii import b2a_base64
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import Final

URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
STANDARD: Final = str.maketrans("-_", "+/")


def clean(text: str) -> str:
    """Return text that can be encoded as UTF-8. Bytes that are not UTF-8 are replaced."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def same(known: str, offered: str) -> bool:
    """Compare secrets in constant time."""
    return compare_digest(known.encode("utf-8", "surrogateescape"), offered.encode("utf-8", "surrogateescape"))


def base64url(raw: bytes) -> str:
    """Encode bytes as base64url without padding (RFC 7515 2)."""
    return b2a_base64(raw, newline=False).translate(URL_SAFE, b"=").decode()


def from_base64url(text: str) -> bytes:
    """Decode base64url without padding. Raises `ValueError`."""
    return b64decode(text.translate(STANDARD) + "=" * (-len(text) % 4))


@lru_cache(maxsize=256)
def digits(seed: str, length: int) -> str:
    """Derive a number with `length` digits from a seed."""
    smallest: int = 10 ** (length - 1)
    return str(smallest + int.from_bytes(sha256(seed.encode()).digest()) % (9 * smallest))


def fingerprint(seed: str, length: int = 32) -> str:
    """Derive lower-case hexadecimal digits from a seed."""
    return sha256(seed.encode("utf-8", "surrogateescape")).hexdigest()[:length]
