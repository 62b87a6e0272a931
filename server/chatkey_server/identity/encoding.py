"""Strict readings of what arrives as text: base64url, JSON, and the compact form of a JWS (RFC 7515 3.1)."""

from __future__ import annotations

import json
import math
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from typing import Final, NamedTuple, NoReturn

_COMPACT: Final = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)", re.ASCII)
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
_MOST_LEVELS: Final = 32
# The last character of a group of 2 (or 3) carries 4 (or 2) bits that no byte uses: they must be zero.
_CANONICAL_LAST: Final = {0: None, 2: frozenset("AQgw"), 3: frozenset("AEIMQUYcgkosw048")}


class Malformed(ValueError):
    """A text that is not what it should be; the message says why without repeating it."""


class Compact(NamedTuple):
    """The three segments of a compact JWS as received, and its decoded signature."""

    header: str
    payload: str
    signature: bytes
    signed: bytes
    """The bytes the signature is over: the first two segments with their dot."""


def encode(raw: bytes) -> str:
    """Return base64url without padding (RFC 7515 2)."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Decode base64url; padding, white space, foreign characters and non-canonical endings raise `Malformed`."""
    rest = len(text) % 4
    if rest == 1 or not _BASE64URL.fullmatch(text):
        raise Malformed("not base64url without padding")
    allowed = _CANONICAL_LAST[rest]
    if allowed is not None and text[-1] not in allowed:
        raise Malformed("not canonical base64url")
    return urlsafe_b64decode(text + "==")


def split(text: str) -> Compact:
    """Split a compact JWS; anything but three base64url segments raises `Malformed`."""
    found = _COMPACT.fullmatch(text)
    if found is None:
        raise Malformed("not three base64url segments with dots between them")
    header, payload, signature = found.groups()
    return Compact(header, payload, decode(signature), text[: found.end(2)].encode())


def json_value(raw: bytes, *, repeated: bool = False) -> object:
    """Read JSON in UTF-8. NaN, a number beyond a double and deep nesting raise `Malformed`.

    So does a member named twice, at any depth, unless it may be `repeated`.
    """
    try:
        value: object = (_repeating if repeated else _decoder).decode(raw.decode())
    except Malformed:
        raise
    except (ValueError, RecursionError):
        raise Malformed("not JSON in UTF-8") from None
    # Python's own limit differs between versions. What has few brackets is not measured: tokens are many.
    if raw.count(b"{") + raw.count(b"[") > _MOST_LEVELS:
        _check_levels(value, _MOST_LEVELS)
    return value


def json_object(raw: bytes) -> dict[str, object]:
    """Read a JSON object as `json_value` does; anything else raises `Malformed` too."""
    value = json_value(raw)
    if not isinstance(value, dict):
        raise Malformed("not a JSON object")
    return value


def _check_levels(value: object, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if left == 0:
        raise Malformed(f"JSON of more than {_MOST_LEVELS} levels")
    for part in value.values() if isinstance(value, dict) else value:
        _check_levels(part, left - 1)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        times = Counter(name for name, _ in pairs)  # in one pass: nobody has proved anything yet
        twice = next(name for name in times if times[name] > 1)
        raise Malformed(f"member {twice[:32]!a} stands there twice")
    return members


def _no_constant(_: str) -> NoReturn:
    raise Malformed("NaN and Infinity are not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Malformed("a number beyond the range of a double")
    return number


# Made once: `json.loads` would make one for every call.
_decoder: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
_repeating: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
