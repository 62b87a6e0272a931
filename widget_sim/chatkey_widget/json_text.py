"""Reads JSON that others wrote: a text nested too deep ends a Python that runs in a page, without an exception."""

import json
import re
from typing import Final, NoReturn

DEEPEST: Final = 100
"""Levels of arrays and objects that are read; nothing the widget is sent has ten."""

_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET: Final = re.compile(r"[][{}]")


def read_json(text: str) -> object:
    """Read a JSON text. Raises `ValueError` for what is none, for NaN and infinities, and for too many levels."""
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
