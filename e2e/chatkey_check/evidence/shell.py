"""Writes requests as words of a shell command (bash, zsh). People can copy and run these commands."""

from __future__ import annotations

import re
import string
from itertools import groupby
from shlex import quote
from typing import Final

from chatkey_check.evidence.masks import HIDDEN

RUN: Final = 200
"""From this many repetitions of one byte, a command generates the bytes instead of listing them."""
ESCAPES: Final = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
PLAIN: Final = frozenset(string.ascii_letters + string.digits + ' {}":,._/=&+')
SPECIAL: Final = re.compile(r'(["$`\\])')


def word(text: str, variable: str = "SECRET") -> str:
    """Return a text as one shell word. Masked parts refer to an environment variable."""
    if HIDDEN not in text:
        return quote(text) if text.isprintable() else _escaped(text.encode())
    return '"' + SPECIAL.sub(r"\\\1", text).replace(HIDDEN, f"${variable}") + '"'


def header(name: str, value: str) -> str:
    """Return a header as one shell word. A masked value refers to a variable with the name of the header."""
    return word(f"{name}: {value}", re.sub(r"\W", "_", name).upper())


def data(body: bytes) -> str:
    """Return a body as an argument of curl, byte for byte.

    If a shell word cannot contain the body, or would be too long, the argument is the output of commands.
    """
    if b"\0" in body or _longest_run(body) >= RUN:
        return f"@<({_made(body)})"
    text = body.decode("utf-8", "replace")
    return word(text) if text.encode() == body else _escaped(body)


def _longest_run(body: bytes) -> int:
    return max((sum(1 for _ in run) for _, run in groupby(body)), default=0)


def _made(body: bytes) -> str:
    """Return shell commands that print a body. A long run of the same byte is written as a count."""
    pieces = re.split(rb"((?s:(.))\2{%d,})" % (RUN - 1), body)
    commands: list[str] = []
    for text, run in zip(pieces[::3], [*pieces[1::3], b""], strict=True):
        commands += [f"printf '{_octal(text)}'"] if text else []
        commands += [f"head -c {len(run)} /dev/zero | tr '\\0' '{_octal(run[:1])}'"] if run else []
    return "; ".join(commands)


def _octal(raw: bytes) -> str:
    """Return bytes in the notation of printf and tr, for use between single quotes."""
    return "".join(chr(byte) if chr(byte) in PLAIN else f"\\{byte:03o}" for byte in raw)


def _escaped(raw: bytes) -> str:
    """Return bytes in `$'…'` quotes, in which the shell interprets escapes."""
    return "$'" + "".join(_shown(byte) for byte in raw) + "'"


def _shown(byte: int) -> str:
    char = chr(byte)
    return ESCAPES.get(char) or (char if 32 <= byte < 127 else f"\\x{byte:02x}")
