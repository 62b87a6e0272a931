"""Parses bodies and tokens for the checker: leniently like a browser, or strictly like the socket.

These parsers share no code with the server, so that a bug in either becomes visible.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, NoReturn

BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
LIKE_A_TOKEN: Final = re.compile(r"ey[A-Za-z0-9_-]+\.ey[A-Za-z0-9_-]+\.")
BOM: Final = b"\xef\xbb\xbf"
SHA256_BYTES: Final = 32
MOST_BRACKETS: Final = 1_000
"""How many arrays and objects readable claims have. Newer Pythons parse deeper ones, which take minutes to indent."""
TO_BASE64: Final = str.maketrans("-_", "+/")
"""From base64url's alphabet to base64's. Python 3.15 warns about + and / in base64url."""


class Unreadable(ValueError):
    """A text that cannot be parsed. `member` names the invalid JSON member or segment, if exactly one is invalid."""

    def __init__(self, reason: str, member: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.member = member


@dataclass(frozen=True, slots=True)
class Compact:
    """The three decoded segments of a token, and the bytes that are signed (RFC 7515 3.1)."""

    header: bytes
    payload: bytes
    signature: bytes
    signed: bytes


def body_text(body: bytes) -> str:
    """Decode a body as `response.text()` does: as UTF-8 regardless of the charset, without a BOM."""
    return body.removeprefix(BOM).decode("utf-8", "replace")


def browser_json(text: str) -> object:
    """Parse JSON as `JSON.parse` does. If a member appears twice, the last value counts."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except Unreadable:
        raise
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None


def strict_object(raw: bytes) -> dict[str, object]:
    """Parse the JSON object of a token's header or payload.

    The text must be UTF-8 without a BOM, and no member may appear twice at any depth. Raises `Unreadable`.
    """
    if raw.startswith(BOM):
        raise Unreadable("it begins with a byte order mark")
    try:
        value: object = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except Unreadable:
        raise
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    except (ValueError, RecursionError):
        raise Unreadable("it is not JSON") from None
    if not isinstance(value, dict):
        raise Unreadable(f"it is {kind(value)}, not a JSON object")
    return value


def decoded(segment: str) -> bytes:
    """Decode base64url without padding (RFC 7515 2).

    Raises `Unreadable` for any other text, including a text whose unused bits are not zero.
    """
    try:
        raw = base64.b64decode(segment.translate(TO_BASE64) + "=" * (-len(segment) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable("not base64url") from None
    if encoded(raw) != segment:
        raise Unreadable("not canonical base64url: its unused bits must be zero")
    return raw


def encoded(raw: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def compact(token: str) -> Compact:
    """Split a token into its decoded segments. An empty signature is accepted here. The caller judges the signature."""
    parts = token.split(".")
    if len(parts) != 3:
        count = "one part" if len(parts) == 1 else f"{len(parts)} parts"
        raise Unreadable(f"it has {count} instead of three separated by dots")
    header, payload = (_segment(part, name) for part, name in zip(parts[:2], ("header", "payload"), strict=True))
    signature = _segment(parts[2], "signature") if parts[2] else b""
    return Compact(header, payload, signature, f"{parts[0]}.{parts[1]}".encode())


def hs256(key: bytes, signed: bytes) -> bytes:
    """Return the HS256 signature of RFC 7518 3.2."""
    return hmac.digest(key, signed, hashlib.sha256)


def lenient_claims(token: str) -> dict[str, object]:
    """Return the claims of a token, even of a malformed one, or an empty dictionary if it has no readable claims."""
    parts = token.split(".")
    if len(parts) < 2:
        return {}
    text = parts[1].translate(TO_BASE64).rstrip("=")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4))
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    if raw.count(b"[") + raw.count(b"{") > MOST_BRACKETS:
        return {}
    return value if isinstance(value, dict) else {}


def holds_token(text: str) -> bool:
    """Return whether a text contains something that looks like a token."""
    return LIKE_A_TOKEN.search(text) is not None


def holds_bound_token(text: str) -> bool:
    """Return whether a text contains a token with the claim `cnf`. The site's own session tokens have no such claim."""
    return any("cnf" in lenient_claims(found[0]) for found in LIKE_A_TOKEN.finditer(text))


def kind(value: object) -> str:
    """Return the JSON type of a value, with an article."""
    names: dict[type, str] = {
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number with a fraction",
        list: "an array",
        dict: "an object",
        type(None): "null",
    }
    return names.get(type(value), "nothing")


def described(value: object) -> str:
    """Return the type of a value followed by the value, or just "null"."""
    return "null" if value is None else f"{kind(value)} ({shown(value)})"


def shown(value: object, limit: int = 80) -> str:
    """Return a value as JSON on one line, shortened to `limit` characters and without control characters."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    printable = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
    return printable if len(printable) <= limit else f"{printable[: limit - 1]}…"


def _segment(text: str, name: str) -> bytes:
    if not BASE64URL.fullmatch(text):
        raise Unreadable(f"its {name} is {'empty' if not text else 'not base64url'}", name)
    try:
        return decoded(text)
    except Unreadable as wrong:
        raise Unreadable(f"its {name} is {wrong.reason}", name) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    times = Counter(name for name, _ in pairs)
    twice = next(name for name in times if times[name] > 1)
    raise Unreadable(f"{shown(twice)} appears twice", twice)


def _no_constant(name: str) -> NoReturn:
    raise Unreadable(f"{name} is not JSON")
