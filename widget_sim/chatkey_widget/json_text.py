"""Parses untrusted JSON. In a page, JSON that is nested too deeply would crash Python without an exception."""

import json
import re
from typing import Final, NoReturn

DEEPEST: Final = 100
"""The deepest nesting of arrays and objects that is accepted. Valid data for the widget has less than ten levels."""

_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET: Final = re.compile(r"[][{}]")


def read_json(text: str) -> object:
    """Parse a JSON text. Raises `ValueError` for invalid JSON, NaN, infinities, or nesting that is too deep."""
    if text.count("[") + text.count("{") > DEEPEST and _depth(text) > DEEPEST:
        raise ValueError("nested too deep")
    value: object = json.loads(text, parse_constant=_no_constant)
    return value


def _depth(text: str) -> int:
    level = deepest = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        level += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
