"""The report as Markdown, for a CI summary or a ticket."""

from __future__ import annotations

from typing import Any, Final

from chatkey_conform.reports.words import headline, unjudged
from chatkey_peer.markdown import code, literal, prose, table

MOST: Final = 50


def write(report: dict[str, Any]) -> str:
    parts = ["# Conformance", f"**{literal(headline(report))}**"]
    parts += [literal(unjudged(report))] if report["unjudged_must"] else []
    counts = ((name, literal(str(count))) for name, count in report["counts"].items() if count)
    parts.append(table(("verdict", "sentences"), counts))
    failed = [sentence for sentence in report["sentences"] if sentence["verdict"] == "failed"]
    if failed:
        rows = (
            (code(s["id"]), prose(s["text"]), literal(s["reason"]), literal(", ".join(s["pages"])))
            for s in failed[:MOST]
        )
        parts += ["## Failed", table(("sentence", "text", "reason", "page"), rows)]
    errors = [entry for entry in report["evidence"] if entry["verdict"] == "harness error"]
    if errors:
        told = ((code(entry["id"]), literal(entry["reason"])) for entry in errors[:MOST])
        parts += ["## Harness errors", table(("case", "reason"), told)]
    if report["missing"]:
        missing = ((literal(name), literal(meaning)) for name, meaning in report["missing"].items())
        parts += ["## Not declared", table(("capability", "meaning"), missing)]
    if report["mended"]:
        parts.append(f"Known failures that pass now: {literal(', '.join(report['mended']))}.")
    return "\n\n".join(parts) + "\n"
