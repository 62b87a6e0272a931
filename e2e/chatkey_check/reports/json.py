"""Writes the report in JSON, for programs. The schema is docs/schemas/gettoken-report.json."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps
from typing import TYPE_CHECKING, Any, Final

from chatkey_check.model import Outcome, Verdict
from chatkey_check.reports import summary
from chatkey_check.reports.fixes import fix

if TYPE_CHECKING:
    from chatkey_check.model import Report

VERSION: Final = 3
"""Increased when a member changes its meaning or is removed. Adding members does not change it."""


def write(report: Report) -> str:
    return dumps(_report(report), indent=2, ensure_ascii=False)


def _report(report: Report) -> dict[str, Any]:
    return {
        "format": "chatkey-gettoken-report",
        "version": VERSION,
        "result": summary.result(report).name.lower().replace("_", "-"),
        "headline": summary.headline(report),
        "cause": report.cause.check.id if report.cause else None,
        "target": report.target,
        "started_at": report.started_at,
        "seconds": round(report.seconds, 3),
        "waited": round(report.waited, 3),
        "requests": report.requests,
        "sent": dict(report.sent),
        "skew": None if report.skew is None else round(report.skew, 3),
        "versions": dict(report.versions),
        "options": dict(report.options),
        "counts": {verdict: report.count(verdict) for verdict in Verdict},
        "missed": [outcome.check.id for outcome in report.missed],
        "checks": [_check(outcome) for outcome in report.outcomes],
        "known_failures_out_of_date": list(report.stale),
    }


def _check(outcome: Outcome) -> dict[str, Any]:
    check = outcome.check
    return {
        "id": check.id,
        "page": f"docs/checks.md#{check.id.replace('.', '')}",
        "group": check.group,
        "severity": check.severity,
        "section": check.section,
        "why": check.why,
        "verdict": outcome.verdict,
        "message": outcome.message,
        "hint": outcome.hint,
        "fix": fix(outcome),
        "option": outcome.option,
        "blocked_by": outcome.blocked_by,
        "known": outcome.known,
        "seconds": round(outcome.seconds, 3),
        "evidence": [{**asdict(seen), "seconds": round(seen.seconds, 3)} for seen in outcome.evidence],
        "files": list(outcome.files),
    }
