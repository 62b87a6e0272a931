"""Keeps CI runners from executing lines that a program prints: GitHub, Azure Pipelines and TeamCity read commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

AT_START: Final = re.compile(r"^([^\S\n]*)(:)(?=:)", re.MULTILINE)
ANYWHERE: Final = re.compile(r"(#)(#)(?=\w*\[)")


def marked(char: str) -> str:
    return f"|{char}"


def as_json(char: str) -> str:
    return f"\\u{ord(char):04x}"


def as_markup(char: str) -> str:
    return f"&#{ord(char)};"


def harmless(text: str, escaped: Callable[[str], str] = marked) -> str:
    """Return a text with one character of every command `escaped`: `::error`, `##[error]`, `##vso[…]` and the like."""
    for command in (AT_START, ANYWHERE):
        text = command.sub(lambda found: found[1] + escaped(found[2]), text)
    return text
