"""Names the usual mistake behind a signature that does not verify, for the log and the integrator."""

from __future__ import annotations

import hmac
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator


def signed_with(signed: bytes, signature: bytes, secret: bytes) -> str | None:
    """Tell with what the token was signed instead of the secret, or None if no known mistake fits."""
    for mistake, key in _mistaken(secret):
        if hmac.compare_digest(signature, hmac.digest(key, signed, "sha256")):
            return f"the signature verifies with {mistake}"
    return None


def _mistaken(secret: bytes) -> Iterator[tuple[str, bytes]]:
    yield "the secret and a newline behind it", secret + b"\n"
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
        ("base64url", urlsafe_b64decode, padded),
        ("hex", bytes.fromhex, text),
    ):
        try:
            yield name, decode(written)
        except ValueError:  # the secret does not look like that form
            continue
