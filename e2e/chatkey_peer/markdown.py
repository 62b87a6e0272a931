"""Writes Markdown for reports, in which foreign text stays text: no markup, no link, and no mention of a user."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

SPECIAL: Final = re.compile(r"([\\`*_\[\]<>#|~&$])")
AT_START: Final = re.compile(r"^(\d*)([-+=.)])")
"""The beginning of a text that would begin a list, or underline a heading."""
NAMED: Final = re.compile("`([^`]+)`")


def literal(text: str) -> str:
    """Return a foreign text in one line."""
    return AT_START.sub(r"\1\\\2", _escaped(" ".join(text.split())))


def prose(text: str) -> str:
    """Return a text of our own, in which backticks mark code."""
    return "".join((code if place % 2 else _escaped)(part) for place, part in enumerate(NAMED.split(text)))


def code(text: str) -> str:
    """Return a foreign text as inline code, also for the cell of a table."""
    flat = " ".join(text.split())
    return f"<code>{literal(flat)}</code>" if "`" in flat or "|" in flat else f"`{flat}`"


def fenced(text: str, language: str = "") -> str:
    """Return a foreign text as a block of code. Its fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table. The cells are Markdown."""
    names = list(head)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, ["---"] * len(names), *rows))


def folded(title: str, text: str) -> str:
    """Return Markdown behind a title in HTML, which opens it."""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _escaped(text: str) -> str:
    marked = SPECIAL.sub(r"\\\1", text)
    return marked.replace("@", "@<!-- -->").replace("://", ":<!-- -->//").replace("www.", "www<!-- -->.")
