"""Text as the fake writes, compares and derives it; what comes in may hold bytes that are no UTF-8, as surrogates."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest


def clean(text: str) -> str:
    """Text that can be written as UTF-8, whatever bytes it came from."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def same(known: str, offered: str) -> bool:
    """Compare secrets without telling by the time where they differ."""
    return compare_digest(known.encode("utf-8", "surrogateescape"), offered.encode("utf-8", "surrogateescape"))


def base64url(raw: bytes) -> str:
    """Base64url without padding (RFC 7515 2)."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """What unpadded base64url stands for. Raises `ValueError`."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def digits(seed: str, length: int) -> str:
    """A number of that many digits which a seed always leads to."""
    smallest: int = 10 ** (length - 1)
    return str(smallest + int.from_bytes(sha256(seed.encode()).digest()) % (9 * smallest))


def fingerprint(seed: str, length: int = 32) -> str:
    """Lower-case hexadecimal digits which a seed always leads to."""
    return sha256(seed.encode("utf-8", "surrogateescape")).hexdigest()[:length]
