"""A strict reader of JSON (RFC 8259), base64url and the compact JWS, written from the grammar alone."""

from __future__ import annotations

import re
from typing import Any, Final

ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_STRING: Final = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: Final = {"true": True, "false": False, "null": None}
_PAIR: Final = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
DEEPEST: Final = 32
"""How many objects and arrays may be nested in each other."""
_MOST_DIGITS: Final = 4300
"""Python reads no integers with more digits, and no number here needs more."""


class NotStrict(ValueError):
    """A strict reader does not accept the input."""


def read_json(raw: bytes) -> Any:
    """Return the one value in `raw`. Raises `NotStrict`, also for a repeated member or an infinite number."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise NotStrict from None
    value, end = _value(text, _space(text, 0), DEEPEST)
    if _space(text, end) != len(text):
        raise NotStrict
    return value


def read_object(raw: bytes) -> dict[str, Any]:
    """Return the one object in `raw`. Raises `NotStrict`."""
    value = read_json(raw)
    if not isinstance(value, dict):
        raise NotStrict
    return value


def is_text(value: object) -> bool:
    """Return whether every string in a JSON value is valid Unicode, without a lone surrogate."""
    match value:
        case str():
            return not any("\ud800" <= char <= "\udfff" for char in value)
        case list():
            return all(map(is_text, value))
        case dict():
            return all(is_text(name) and is_text(member) for name, member in value.items())
    return True


def read_base64url(text: str) -> bytes:
    """Decode base64url without padding, in its one canonical spelling. Raises `NotStrict`."""
    if len(text) % 4 == 1 or not set(text) <= set(ALPHABET):
        raise NotStrict
    bits = "".join(f"{ALPHABET.index(char):06b}" for char in text)
    whole = len(bits) // 8 * 8
    if "1" in bits[whole:]:
        raise NotStrict
    return int(bits[:whole] or "0", 2).to_bytes(whole // 8, "big")


def read_compact(text: str) -> tuple[dict[str, Any], bytes, bytes, bytes]:
    """Return header, payload, signature and the signed bytes of a compact JWS (RFC 7515 3.1). Raises `NotStrict`."""
    segments = text.split(".")
    if len(segments) != 3 or not segments[0] or not segments[1]:
        raise NotStrict
    header, payload, signature = map(read_base64url, segments)
    return read_object(header), payload, signature, ".".join(segments[:2]).encode("ascii")


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, levels: int) -> tuple[Any, int]:
    first = text[at : at + 1]
    if first in {"{", "["}:
        if not levels:
            raise NotStrict
        return (_object if first == "{" else _array)(text, at + 1, levels - 1)
    if first == '"':
        return _string(text, at)
    for word, value in _WORDS.items():
        if text.startswith(word, at):
            return value, at + len(word)
    return _number(text, at)


def _object(text: str, at: int, levels: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    at = _space(text, at)
    if text.startswith("}", at):
        return members, at + 1
    while True:
        name, at = _string(text, _space(text, at))
        at = _expect(text, _space(text, at), ":")
        if name in members:
            raise NotStrict
        members[name], at = _value(text, _space(text, at), levels)
        at = _space(text, at)
        if text.startswith("}", at):
            return members, at + 1
        at = _expect(text, at, ",")


def _array(text: str, at: int, levels: int) -> tuple[list[Any], int]:
    values: list[Any] = []
    at = _space(text, at)
    if text.startswith("]", at):
        return values, at + 1
    while True:
        value, at = _value(text, _space(text, at), levels)
        values.append(value)
        at = _space(text, at)
        if text.startswith("]", at):
            return values, at + 1
        at = _expect(text, at, ",")


def _expect(text: str, at: int, char: str) -> int:
    if not text.startswith(char, at):
        raise NotStrict
    return at + 1


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise NotStrict
    return _PAIR.sub(_joined, _ESCAPE.sub(_unescaped, found[1])), found.end()


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _SHORT.get(found[2], found[2])


def _joined(found: re.Match[str]) -> str:
    return chr(0x10000 + (ord(found[1]) - 0xD800) * 0x400 + ord(found[2]) - 0xDC00)


def _number(text: str, at: int) -> tuple[int | float, int]:
    found = _NUMBER.match(text, at)
    if found is None:
        raise NotStrict
    if found[1] is None and found[2] is None:
        if len(found[0].lstrip("-")) > _MOST_DIGITS:
            raise NotStrict
        return int(found[0]), found.end()
    value = float(found[0])
    if value in {float("inf"), float("-inf")}:
        raise NotStrict
    return value, found.end()
