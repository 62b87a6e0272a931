"""Decodes a claims set into a Struct. An error says in plain words which claim is wrong."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeVar

import msgspec

from chatkey_server.identity import encoding

Seconds = Annotated[int, msgspec.Meta(ge=0, le=9_999_999_999)]
"""Seconds since the epoch. Ten digits are enough until 2286; thirteen digits are milliseconds."""

LEEWAY_SECONDS: Final = 60
"""By how much the issuer's clock may be ahead of ours."""

T = TypeVar("T")

_PATH: Final = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]+)`")

_write: Final = msgspec.json.Encoder().encode


class WrongClaim(ValueError):
    """A claim is missing, has the wrong type, or is out of bounds. The message never repeats the value of the claim."""

    def __init__(self, member: str, what: str) -> None:
        super().__init__(f"{member} {what}" if member else what)
        self.member = member
        self.what = what


def read(decoder: msgspec.json.Decoder[T], raw: bytes) -> T:
    """Decode a claims set. Raises `WrongClaim`."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as wrong:
        raise _explained(str(wrong)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise WrongClaim("", "is not a JSON object in UTF-8") from None


def read_strictly(decoder: msgspec.json.Decoder[T], raw: bytes) -> T:
    """Decode a claims set as `read` does. Raises `Malformed` too, if the text is not the strict JSON of an object."""
    try:
        found = read(decoder, raw)
    except WrongClaim:
        encoding.json_object(raw)
        raise
    if raw != _write(found):  # our own tokens and proofs are equal, and what msgspec writes is strict JSON
        encoding.json_object(raw)
    return found


def _explained(message: str) -> WrongClaim:
    at = _PATH.search(message)
    path = at["path"] if at else ""
    missing = _MISSING.match(message)
    if missing:
        return WrongClaim(".".join(filter(None, (path, missing["name"]))), "is missing")
    what = _PATH.sub("", message).replace("`", "")
    return WrongClaim(path, f"is invalid: {what[:1].lower()}{what[1:]}")
