"""The report as Markdown, for a CI summary or a ticket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from chatkey_conform.reports.words import headline, unjudged

MOST: Final = 50


def write(report: dict[str, Any]) -> str:
    parts = ["# Conformance", "", f"**{headline(report)}**", ""]
    parts += [unjudged(report), ""] if report["unjudged_must"] else []
    parts += _table(("verdict", "sentences"), [(name, str(count)) for name, count in report["counts"].items() if count])
    failed = [sentence for sentence in report["sentences"] if sentence["verdict"] == "failed"]
    if failed:
        rows = [(f"`{s['id']}`", s["text"], s["reason"], _pages(s)) for s in failed[:MOST]]
        parts += ["", "## Failed", "", *_table(("sentence", "text", "reason", "page"), rows)]
    errors = [entry for entry in report["evidence"] if entry["verdict"] == "harness error"]
    if errors:
        told = [(f"`{entry['id']}`", entry["reason"]) for entry in errors[:MOST]]
        parts += ["", "## Harness errors", "", *_table(("case", "reason"), told)]
    if report["missing"]:
        parts += ["", "## Not declared", "", *_table(("capability", "meaning"), list(report["missing"].items()))]
    if report["mended"]:
        parts += ["", f"Known failures that pass now: {', '.join(report['mended'])}."]
    return "\n".join([*parts, ""])


def _pages(sentence: dict[str, Any]) -> str:
    return ", ".join(sentence["pages"])


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [" | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *(f"| {line} |" for line in lines)]
