"""Finds a secret, in any of its usual encodings, in data that was sent to a browser."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from typing import Final

from chatkey_check.exchange import Exchange, header_lines
from chatkey_peer.forms import forms

SHORTEST: Final = 8
"""A shorter secret could occur in a text by chance."""
ESCAPE: Final = re.compile(r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,5})\}")
SEGMENT: Final = re.compile(r"[A-Za-z0-9_-]{16,}")


def leaked(secret: str, text: str) -> str | None:
    """Return the name of the form in which a secret occurs in a text, or None. Tokens in the text are decoded first."""
    opened = f"{text}\n{_opened(text)}"
    return next((name for name, form in forms(secret) if form in opened), None)


def unescaped(text: str) -> str:
    """Return a text with the escapes of JavaScript and HTML resolved."""
    plain = ESCAPE.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), text)
    return html.unescape(plain)


def whole(exchange: Exchange) -> str:
    """Return the headers and the body of the response as one text."""
    answer = exchange.response
    return f"{header_lines(answer.headers)}\n\n{exchange.text}" if answer else ""


def _opened(text: str) -> str:
    """Return the decoded segments of the tokens in a text."""
    decoded = (base64.urlsafe_b64decode(found + "=" * (-len(found) % 4)) for found in _segments(text))
    return "\n".join(raw.decode("utf-8", "replace") for raw in decoded)


def _segments(text: str) -> Iterator[str]:
    for found in SEGMENT.findall(text):
        if found.startswith("ey") and len(found) % 4 != 1:
            yield found
