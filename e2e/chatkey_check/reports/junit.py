"""Writes the report as JUnit XML, for CI systems, with one test case for each check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from chatkey_check.model import Outcome, Verdict
from chatkey_check.reports import summary
from chatkey_check.words import plural
from chatkey_peer import junit

if TYPE_CHECKING:
    from chatkey_check.model import Report

KNOWN: Final = "known failures"
COMPLETE: Final = "all necessary checks were judged"
"""The name of the test case that fails if checks that should have been judged were not."""


def write(report: Report) -> str:
    began = report.started_at.partition("+")[0]
    facts = dict(summary.facts(report))
    return junit.write(junit.Suite("chatkey check", [*_cases(report)], report.seconds, began, facts))


def _cases(report: Report) -> Iterator[junit.Case]:
    for outcome in report.outcomes:
        tag, message, kind, text = _told(outcome)
        yield junit.Case(outcome.check.group, outcome.check.id, tag, message, text, kind, outcome.seconds)
    for line in report.stale:
        yield junit.Case(KNOWN, line.partition(":")[0], "failure", line, kind=KNOWN)
    if report.missed:
        reasons = "\n".join(f"{outcome.check.id}: {summary.reason(outcome)}" for outcome in report.missed)
        yield junit.Case("", COMPLETE, "failure", _missed(report), reasons, "must")


def _told(outcome: Outcome) -> tuple[str, str, str, str]:
    """Return the JUnit tag of an outcome, with its message, type and text."""
    if outcome.known:
        return "skipped", f"known: {outcome.known}. {outcome.message}", "", ""
    match outcome.verdict:
        case Verdict.FAIL:
            return "failure", outcome.message, outcome.check.severity, _evidence(outcome)
        case Verdict.ERROR:
            return "error", outcome.message, "chatkey", outcome.hint
        case Verdict.SKIP | Verdict.BLOCKED:
            return "skipped", summary.reason(outcome), "", ""
        case Verdict.WARN:
            return "system-out", "", "", f"warning: {outcome.message}\n{_evidence(outcome)}"
        case Verdict.PASS:
            return "", "", "", ""


def _missed(report: Report) -> str:
    names = ", ".join(outcome.check.id for outcome in report.missed)
    return f"{plural(len(report.missed), 'check')} could not be judged: {names}"


def _evidence(outcome: Outcome) -> str:
    """Return what to change, why, the calls that show the finding, and the saved files."""
    calls = (f"{seen.label}:\n{seen.curl}\n\n{seen.response}" for seen in outcome.evidence)
    kept = (f"saved: {file}" for file in outcome.files)
    return "\n\n".join([f"{outcome.hint}\n{outcome.check.why}", *calls, *kept])
