"""Texts that all formats of a report share: the result of the run, and which further checks are possible."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from chatkey_check.model import Outcome, Question, Report, Verdict
from chatkey_check.reports.exits import status
from chatkey_check.words import plural
from chatkey_peer.exits import Exit

FINDINGS: Final = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.ERROR})
LONGEST: Final = 100
"""Most characters of a message in the headline."""
SHAPE: Final = ("--method", "--body", "--query", "--token-at")
WORDS: Final = {
    Verdict.PASS: "passed",
    Verdict.WARN: "to improve",
    Verdict.FAIL: "failed",
    Verdict.SKIP: "not judged",
    Verdict.BLOCKED: "blocked",
    Verdict.ERROR: "chatkey error",
}


def result(report: Report) -> Exit:
    """Return how a run ended. Warnings count here, even if they do not count for the exit status."""
    return status(report, strict=True)


def headline(report: Report) -> str:
    """Return the result of the report in one sentence. If checks were not judged, the sentence gives their number."""
    failures = sum(outcome.counts for outcome in report.outcomes)
    warnings = sum(outcome.verdict is Verdict.WARN and not outcome.known for outcome in report.outcomes)
    match result(report):
        case Exit.UNREACHABLE:
            return "The endpoint cannot be reached"
        case Exit.OURS:
            return "An error in chatkey itself"
        case Exit.FAILED if failures:
            return f"{_cause(report)}{_more(failures - 1)}{_and_the_rest(report)}"
        case Exit.FAILED:
            return "The file of known failures is out of date"
        case Exit.NOTHING_JUDGED:
            return "Nothing could be judged"
        case Exit.NOT_ALL_JUDGED:
            return f"Incomplete: {plural(len(report.missed), 'necessary check')} could not be judged"
        case Exit.WARNINGS:
            return f"It works, with {plural(warnings, 'warning')}{_and_the_rest(report)}"
        case _ if all(outcome.judged for outcome in report.outcomes):
            return f"{plural(report.count(Verdict.PASS), 'check')} passed"
        case _:
            passed, total = report.count(Verdict.PASS), len(report.outcomes)
            return f"No problem found: {passed} of {plural(total, 'check')} passed{_and_the_rest(report)}"


def _cause(report: Report) -> str:
    """Return the id of the first failed check and the beginning of its message."""
    cause = report.cause
    if cause is None:
        return ""
    said = re.split(r"(?<=[^.])[.;] ", cause.message)[0].rstrip(".")
    return f"{cause.check.id}: {said if len(said) <= LONGEST else f'{said[: LONGEST - 1]}…'}"


def _more(failures: int) -> str:
    return f", and {plural(failures, 'more failure')}" if failures else ""


def _and_the_rest(report: Report) -> str:
    rest = sum(not outcome.judged for outcome in report.outcomes)
    return f", {rest} not judged" if rest else ""


def facts(report: Report) -> list[tuple[str, str]]:
    """Return facts about a run: target, times, clock, versions, options."""
    return [
        ("target", report.target),
        ("started", report.started_at),
        ("time", duration(report)),
        ("clock", _clock(report.skew)),
        *((plural(times, "request"), line) for line, times in report.sent.items()),
        *report.versions.items(),
        *report.options.items(),
    ]


def own_shape(report: Report) -> str:
    """Return a note if the format of the calls differs from the contract's example; otherwise an empty text."""
    used = [f"{name} {report.options[name]}" for name in SHAPE if name in report.options]
    return (
        f"Your call differs from the contract's example, so your getToken must match it: {' '.join(used)}"
        if used
        else ""
    )


def duration(report: Report) -> str:
    """Return the number of requests and the duration of the run, in words."""
    waited = f", including {report.waited:.1f} s of waiting" if report.waited >= 0.05 else ""
    return f"{plural(report.requests, 'request')} in {report.seconds:.1f} s{waited}"


def counted(report: Report) -> list[tuple[Verdict, int]]:
    """Return the number of checks for each verdict that occurred."""
    return [(verdict, report.count(verdict)) for verdict in Verdict if report.count(verdict)]


def told(outcomes: Sequence[Outcome]) -> str:
    """Describe in words how the checks of a group ended."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    return ", ".join(f"{counts[verdict]} {WORDS[verdict]}" for verdict in Verdict if counts[verdict])


def options(report: Report) -> dict[str, list[str]]:
    """Return the options that would allow further checks, each with the checks that it allows."""
    more: dict[str, list[str]] = {}
    for outcome in report.outcomes:
        if outcome.verdict is Verdict.SKIP and outcome.option:
            more.setdefault(outcome.option, []).append(outcome.check.id)
    return more


def reasons(report: Report) -> dict[str, list[str]]:
    """Return the reasons why checks were not judged although no option is missing, each with its checks."""
    why: dict[str, list[str]] = {}
    for outcome in report.outcomes:
        if not outcome.judged and not outcome.option:
            why.setdefault(reason(outcome), []).append(outcome.check.id)
    return why


def source(check: Question) -> str:
    """Return the source of a check: a section of the contract, an RFC, or an empty text."""
    return f"contract {check.section}" if check.section[:1].isdigit() else check.section


def reason(outcome: Outcome) -> str:
    """Return why a check was not judged, and which option is missing, if any."""
    if outcome.blocked_by:
        return f"see {outcome.blocked_by} first"
    return f"{outcome.message} ({outcome.option})" if outcome.option else outcome.message


def _clock(skew: float | None) -> str:
    if skew is None:
        return "unknown: the endpoint sent no usable Date header"
    return f"the endpoint's clock is {abs(skew):.1f} s {'ahead' if skew >= 0 else 'behind'}"
