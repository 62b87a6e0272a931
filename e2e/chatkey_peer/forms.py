"""The encodings in which a secret is recognised."""

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote


def forms(secret: str) -> Iterator[tuple[str, str]]:
    """Yield the encoded forms of a secret, each with its name.

    In base64 a secret has three forms, one for each offset.
    """
    raw = secret.encode()
    yield "unchanged", secret
    yield "as hex", raw.hex()
    yield "as hex in capitals", raw.hex().upper()
    yield "URL-encoded", quote(secret, safe="")
    yield "escaped as JSON", json.dumps(secret)[1:-1]
    yield "escaped as HTML", html.escape(secret)
    yield "backwards", secret[::-1]
    for offset in range(3):
        core = _core(raw, offset)
        yield "as base64", core
        yield "as base64url", core.translate(str.maketrans("+/", "-_"))


def _core(raw: bytes, offset: int) -> str:
    """Return the part of a secret's base64 form that does not depend on the text around the secret."""
    text = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
    begin = (0, 2, 3)[offset]
    rest = (offset + len(raw)) % 3
    return text[begin : len(text) - (1 if rest else 0)]
