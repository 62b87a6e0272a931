"""Writes the report as a single HTML file, which loads nothing and contains only a few lines of script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from chatkey_check.model import Outcome, Verdict
from chatkey_check.reports import summary
from chatkey_peer.exits import Exit
from chatkey_peer.pages import page

if TYPE_CHECKING:
    from chatkey_check.model import Report

FOLDER: Final = Path(__file__).parent
TONES: Final = {
    Exit.CLEAN: "pass",
    Exit.WARNINGS: "warn",
    Exit.NOT_ALL_JUDGED: "warn",
    Exit.NOTHING_JUDGED: "skip",
}
"""The colour of the headline. Results that are not listed here are failures."""
MARKS: Final = {
    Verdict.PASS: "✓",
    Verdict.WARN: "!",
    Verdict.FAIL: "✕",
    Verdict.SKIP: "○",
    Verdict.BLOCKED: "·",
    Verdict.ERROR: "?",
}


def write(report: Report) -> str:
    style, script = ((FOLDER / f"report.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return page(
        FOLDER / "report.html",
        report=report,
        cause=report.cause,
        others=_others(report),
        tone=TONES.get(summary.result(report), "fail"),
        groups=[(name, list(group)) for name, group in groupby(report.outcomes, lambda outcome: outcome.check.group)],
        summary=summary,
        marks=MARKS,
        bar=_bar(report),
        found=_found,
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
        policy=(
            f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
            "base-uri 'none'; form-action 'none'"
        ),
    )


def _source(text: str) -> str:
    """Return the source expression for a Content-Security-Policy that allows an inline block by its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _bar(report: Report) -> list[tuple[Verdict, int, int]]:
    """Return the segments of a bar that represents all checks: verdict, start and length."""
    start, parts = 0, []
    for verdict, count in summary.counted(report):
        parts.append((verdict, start, count))
        start += count
    return parts


def _others(report: Report) -> list[Outcome]:
    return [o for o in report.outcomes if o.verdict in summary.FINDINGS and o is not report.cause]


def _found(outcomes: Iterable[Outcome]) -> bool:
    return any(outcome.verdict in summary.FINDINGS for outcome in outcomes)
