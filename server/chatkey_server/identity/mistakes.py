"""Detects common mistakes behind malformed tokens and wrong signatures, for the log and for integrators."""

from __future__ import annotations

import hmac
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Final


def misshapen(token: str) -> str | None:
    """Return the known mistake that explains why a token is malformed, or None if no known mistake fits."""
    return next((f"the token {mistake}" for mistake, fits in _MISSHAPEN if fits(token)), None)


_MISSHAPEN: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("still has the word Bearer in front of it", lambda token: token[:7].lower() == "bearer "),
    ("has white space around it", lambda token: token != token.strip()),
    ("is in quotes: it was JSON-encoded and not decoded again", lambda token: token[:1] in {'"', "'"}),
    ("is in a JSON serialization; send the compact serialization", lambda token: token[:1] == "{"),
    ("is percent-encoded; decode it", lambda token: "%2" in token),
    ("has base64 padding; JWTs omit the =", lambda token: "=" in token),
    ("is in base64; JWTs use base64url, with - and _ instead of + and /", lambda token: "+" in token or "/" in token),
    ("has five segments: it is encrypted, but should only be signed", lambda token: token.count(".") == 4),
)


def signed_with(signed: bytes, signature: bytes, secret: bytes, pid: str) -> str | None:
    """Return which wrong key signed the token, or None if no known mistake fits."""
    for mistake, key in (("the provider's id", pid.encode()), *_mistaken(secret)):
        if hmac.compare_digest(signature, hmac.digest(key, signed, "sha256")):
            return f"the signature verifies with {mistake}"
    return None


def _mistaken(secret: bytes) -> Iterator[tuple[str, bytes]]:
    yield "the secret followed by a newline", secret + b"\n"
    yield "the secret in double quotes", b'"' + secret + b'"'
    yield "the secret in single quotes", b"'" + secret + b"'"
    yield "the secret without its surrounding white space", secret.strip()
    yield "the base64 form of the secret", urlsafe_b64encode(secret)
    yield "the hex form of the secret", secret.hex().encode()
    yield "an empty secret", b""
    yield "the word undefined (the setting was not read)", b"undefined"
    yield "the word null (the setting was not read)", b"null"
    yield "the word None (the setting was not read)", b"None"
    for name, decoded in _decoded(secret):
        yield f"the {name}-decoded secret", decoded


def _decoded(secret: bytes) -> Iterator[tuple[str, bytes]]:
    text = secret.decode(errors="replace")
    padded = text + "=" * (-len(text) % 4)
    for name, decode, written in (
        ("base64", b64decode, padded),
        ("base64url", b64decode, padded.translate(str.maketrans("-_", "+/"))),
        ("hex", bytes.fromhex, text),
    ):
        try:
            yield name, decode(written)
        except ValueError:  # the secret is not in this form
            continue
