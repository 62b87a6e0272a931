"""Decides which frames a widget may send (D-10), without using the server's code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.server.properties.kit.strict_json import NotStrict, is_text, read_object

Test = Callable[[Any], bool]


def is_frame(text: str, most: int) -> bool:
    """Return whether a text is a frame that a widget may send, of at most `most` bytes."""
    try:
        raw = text.encode()
        frame = read_object(raw)
    except (UnicodeEncodeError, NotStrict):
        return False
    if len(raw) > most or not is_text(frame):
        return False
    kind = frame.get("type")
    members = MEMBERS.get(kind) if isinstance(kind, str) else None
    return members is not None and all(
        (name.removesuffix("?") not in frame and name.endswith("?")) or test(frame.get(name.removesuffix("?"), MISSING))
        for name, test in members.items()
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", value, re.ASCII) is not None


def _is_headers(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("name") is None or isinstance(value["name"], str))


def _is_whole(least: int, most: int) -> Test:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_whole_or_null(least: int, most: int) -> Test:
    whole = _is_whole(least, most)
    return lambda value: value is None or whole(value)


MISSING: Final = object()
MEMBERS: Final[Mapping[str, Mapping[str, Test]]] = {
    "connect": {"token": _is_text, "proof": _is_text},
    "refresh": {"token": _is_text},
    "message": {"id": _is_id, "body": _is_text, "headers?": _is_headers},
    "history": {"id": _is_id, "before?": _is_whole_or_null(1, 2**31 - 1), "limit?": _is_whole(1, 50)},
    "search": {"id": _is_id, "query": _is_text},
    "call": {"id": _is_id, "action": lambda value: value in ("start", "end"), "headers?": _is_headers},
    "ping": {},
}
"""The members of each kind of frame. Those with a question mark are optional."""
