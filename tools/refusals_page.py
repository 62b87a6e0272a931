"""Reads the rows of tests/refusals, and writes docs/refusals.md from them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parents[1] / "tests" / "refusals"
INTRODUCTION: Final = """\
Each row is one input that the server, the socket or the popup must refuse. Its test sends the invalid input and a
similar valid one, and has the row's id: `python -m pytest tests -k JWT-151`. The rows `HTM-…` run in a real browser, in
`nox -s e2e`. [Threats](threats.md) groups the rows by attack.
"""
NEXT: Final = "\nNext: the same as data in [the vectors](vectors.md).\n"


@dataclass(frozen=True)
class Family:
    """Rows about one subject: the sentences of the rows by id."""

    title: str
    about: str
    rows: Mapping[str, str]


def families() -> list[Family]:
    """Return the rows by family, in the order of the page."""
    return [Family(**entry) for entry in tomllib.loads((HERE / "rows.toml").read_text("utf-8"))["family"]]


def ids() -> list[str]:
    return [row for family in families() for row in family.rows]


def declined() -> dict[str, str]:
    """Return the rows without a test, each with its reason. Raises `ValueError` for a row that occurs twice."""
    entries = tomllib.loads((HERE / "declined.toml").read_text("utf-8"))["row"]
    reasons = {entry["id"]: entry["reason"] for entry in entries}
    if len(reasons) != len(entries) or any(entry.keys() != {"id", "reason"} for entry in entries):
        raise ValueError("declined.toml has a duplicate row, or a row with keys other than id and reason")
    return reasons


def page(note: str) -> str:
    reasons = declined()
    entries = (part for family in families() for part in _family(family, reasons))
    return "".join(["# Refusals\n\n", note, INTRODUCTION, *entries, NEXT])


def _family(family: Family, reasons: Mapping[str, str]) -> Iterator[str]:
    yield f"\n## {family.title}\n\n{family.about}\n"
    for row, sentence in family.rows.items():
        reason = f"\nNo test of its own: {reasons[row]}\n" if row in reasons else ""
        yield f"\n### {row}\n\n{sentence}\n{reason}"
