"""HTTP responses as plain values, and functions that build common responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from chatkey_oauth.engine.text import clean

Headers = tuple[tuple[str, str], ...]

NO_STORE: Final[Headers] = (("cache-control", "no-store"), ("pragma", "no-cache"))
RESERVED: Final = re.compile(rb"[^A-Za-z0-9._~-]")


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A response, which is a `Reply` of the server. The content length is added when the response is sent."""

    status: int
    body: bytes = b""
    headers: Headers = ()
    delay: float | None = 0.0
    cut: Literal["", "before", "midway"] = ""


def encode(params: Mapping[str, object]) -> str:
    """Form-encode parameters. `call.pairs` does the opposite."""
    return "&".join([f"{encoded(name)}={encoded(str(value))}" for name, value in params.items()])


@lru_cache(maxsize=64)
def encoded(text: str) -> str:
    """Form-encode one name or value. The result is cached, because most of them are the same in all callbacks."""
    return RESERVED.sub(escaped, text.encode("utf-8", "surrogateescape")).decode()


def escaped(found: re.Match[bytes]) -> bytes:
    """Return the form-encoding of one byte."""
    return b"+" if found[0] == b" " else b"%%%02X" % ord(found[0])


def json_answer(data: Any, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    return Answer(status, msgspec.json.encode(data), (("content-type", "application/json; charset=utf-8"), *headers))


def text_answer(text: str, status: int = 200, content_type: str = "text/plain") -> Answer:
    """Return a response with text. Bytes that are not UTF-8 are replaced."""
    return Answer(status, clean(text).encode(), (("content-type", f"{content_type}; charset=utf-8"),))


def redirect(location: str) -> Answer:
    """Redirect the browser with 302, as the real providers do."""
    return Answer(302, headers=(("location", location), ("cache-control", "no-store")))
