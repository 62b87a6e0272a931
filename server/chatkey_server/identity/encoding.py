"""Strict decoders for text from outside: base64url, JSON, and the compact form of a JWS (RFC 7515 3.1)."""

from __future__ import annotations

import binascii
import json
import math
import re
from base64 import urlsafe_b64encode
from collections import Counter
from typing import Final, NamedTuple, NoReturn

_COMPACT: Final = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)", re.ASCII)
_TO_BASE64: Final = bytes.maketrans(b"-_+/=", b"+/???")
"""From base64url's alphabet to base64's. Characters of base64 only become invalid, and so does padding."""
_PADDING: Final = (b"", b"?", b"==", b"=")
_MOST_LEVELS: Final = 32
# The last character of a group of 2 (or 3) has 4 (or 2) bits that belong to no byte: they must be zero.
_CANONICAL_LAST: Final = {2: frozenset("AQgw"), 3: frozenset("AEIMQUYcgkosw048")}


class Malformed(ValueError):
    """The text does not have the required form. The message says why without repeating the text."""


class Compact(NamedTuple):
    """The three segments of a compact JWS as received, and the decoded signature."""

    header: str
    payload: str
    signature: bytes
    signed: bytes
    """The signed bytes: the first two segments and the dot between them."""


def encode(raw: bytes) -> str:
    """Return base64url without padding (RFC 7515 2)."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Decode base64url. Raises `Malformed` for padding, white space, other characters and non-canonical endings."""
    rest = len(text) % 4
    try:
        raw = binascii.a2b_base64(text.encode("ascii").translate(_TO_BASE64) + _PADDING[rest], strict_mode=True)
    except ValueError:
        raise Malformed("not base64url without padding") from None
    allowed = _CANONICAL_LAST.get(rest)
    if allowed is not None and text[-1] not in allowed:
        raise Malformed("not canonical base64url")
    return raw


def split(text: str) -> Compact:
    """Split a compact JWS. Raises `Malformed` unless the text consists of three base64url segments."""
    found = _COMPACT.fullmatch(text)
    if found is None:
        raise Malformed("not three base64url segments with dots between them")
    header, payload, signature = found.groups()
    return Compact(header, payload, decode(signature), text[: found.end(2)].encode())


def json_value(raw: bytes, *, repeated: bool = False) -> object:
    """Read JSON in UTF-8. Raises `Malformed` for NaN, a number beyond the range of a double, and deep nesting.

    A member that occurs twice, at any depth, raises `Malformed` too, unless `repeated` is set.
    """
    try:
        value: object = (_repeating if repeated else _decoder).decode(raw.decode())
    except Malformed:
        raise
    except (ValueError, RecursionError):
        raise Malformed("not JSON in UTF-8") from None
    # Python's own limit differs between versions. Text with few brackets is not checked, because tokens are frequent.
    if raw.count(b"{") + raw.count(b"[") > _MOST_LEVELS:
        _check_levels(value, _MOST_LEVELS)
    return value


def json_object(raw: bytes) -> dict[str, object]:
    """Read a JSON object as `json_value` does. Raises `Malformed` for any other JSON value."""
    value = json_value(raw)
    if not isinstance(value, dict):
        raise Malformed("not a JSON object")
    return value


def _check_levels(value: object, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if left == 0:
        raise Malformed(f"JSON nested more than {_MOST_LEVELS} levels deep")
    for part in value.values() if isinstance(value, dict) else value:
        _check_levels(part, left - 1)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        times = Counter(name for name, _ in pairs)  # in one pass, because the sender is not authenticated yet
        twice = next(name for name in times if times[name] > 1)
        raise Malformed(f"member {twice[:32]!a} occurs twice")
    return members


def _no_constant(_: str) -> NoReturn:
    raise Malformed("NaN and Infinity are not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Malformed("a number outside the range of a double")
    return number


# Created once: `json.loads` would create one at every call.
_decoder: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
_repeating: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
