"""Defines the exit status of `chatkey check`."""

from __future__ import annotations

from chatkey_check.model import PRECONDITIONS, Report, Verdict
from chatkey_peer.exits import Exit

JUDGED = frozenset({Verdict.PASS, Verdict.WARN, Verdict.FAIL})


def status(report: Report, *, strict: bool = False) -> Exit:
    """Return the exit status for a report. With `strict`, warnings count too, unless they are known."""
    verdicts = {outcome.check.id: outcome.verdict for outcome in report.outcomes}
    if verdicts.get("net.resolves") is Verdict.FAIL:
        return Exit.UNREACHABLE
    if Verdict.ERROR in verdicts.values():
        return Exit.OURS
    if report.cause is not None or report.stale:
        return Exit.FAILED
    if not any(o.verdict in JUDGED for o in report.outcomes if o.check.group != PRECONDITIONS):
        return Exit.NOT_ALL_JUDGED if report.limited else Exit.NOTHING_JUDGED
    if report.missed:
        return Exit.NOT_ALL_JUDGED
    if strict and any(o.verdict is Verdict.WARN and not o.known for o in report.outcomes):
        return Exit.WARNINGS
    return Exit.CLEAN
