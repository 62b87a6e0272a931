"""The report as JUnit XML, for CI systems: one test case for each check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from chatkey_check.model import Outcome, Verdict
from chatkey_check.reports import summary
from chatkey_check.words import plural

if TYPE_CHECKING:
    from chatkey_check.model import Report

NAME: Final = "chatkey check"
UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent, not even escaped."""
KNOWN: Final = "known failures"
COMPLETE: Final = "everything that must be judged"
"""The name of the test case that fails if checks that should have been judged were not."""
SKIPPED: Final = frozenset({Verdict.SKIP, Verdict.BLOCKED})


def write(report: Report) -> str:
    """Return the report as JUnit XML."""
    about = {
        "name": NAME,
        "tests": str(len(report.outcomes) + len(report.stale) + bool(report.missed)),
        "failures": str(sum(outcome.counts for outcome in report.outcomes) + len(report.stale) + bool(report.missed)),
        "errors": str(report.count(Verdict.ERROR)),
        "time": f"{report.seconds:.3f}",
    }
    skipped = sum(outcome.verdict in SKIPPED or bool(outcome.known) for outcome in report.outcomes)
    root = Element("testsuites", about)
    suite = SubElement(root, "testsuite", about)
    suite.attrib |= {"skipped": str(skipped), "timestamp": report.started_at.partition("+")[0]}
    properties = SubElement(suite, "properties")
    for name, value in summary.facts(report):
        _add(properties, "property", {"name": name, "value": value})
    for outcome in report.outcomes:
        _case(suite, outcome)
    for line in report.stale:
        case = _add(suite, "testcase", {"classname": f"{NAME}.{KNOWN}", "name": line.partition(":")[0], "time": "0"})
        _add(case, "failure", {"message": line, "type": KNOWN})
    if report.missed:
        case = _add(suite, "testcase", {"classname": NAME, "name": COMPLETE, "time": "0"})
        _add(case, "failure", {"message": _missed(report), "type": "must"}, _reasons(report))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _case(suite: Element, outcome: Outcome) -> None:
    check = outcome.check
    about = {"classname": f"{NAME}.{check.group}", "name": check.id, "time": f"{outcome.seconds:.3f}"}
    case = _add(suite, "testcase", about)
    if outcome.known:
        _add(case, "skipped", {"message": f"known: {outcome.known}. {outcome.message}"})
        return
    match outcome.verdict:
        case Verdict.FAIL:
            _add(case, "failure", {"message": outcome.message, "type": check.severity}, _told(outcome))
        case Verdict.ERROR:
            _add(case, "error", {"message": outcome.message, "type": "chatkey"}, outcome.hint)
        case Verdict.SKIP | Verdict.BLOCKED:
            _add(case, "skipped", {"message": summary.reason(outcome)})
        case Verdict.WARN:
            _add(case, "system-out", {}, f"warning: {outcome.message}\n{_told(outcome)}")
        case Verdict.PASS:
            pass


def _missed(report: Report) -> str:
    names = ", ".join(outcome.check.id for outcome in report.missed)
    return f"{plural(len(report.missed), 'check')} could not be judged: {names}"


def _reasons(report: Report) -> str:
    return "\n".join(f"{outcome.check.id}: {summary.reason(outcome)}" for outcome in report.missed)


def _told(outcome: Outcome) -> str:
    """Return what to change, why, the calls that show it, and the saved files."""
    calls = (f"{seen.label}:\n{seen.curl}\n\n{seen.response}" for seen in outcome.evidence)
    kept = (f"kept: {file}" for file in outcome.files)
    return "\n\n".join([f"{outcome.hint}\n{outcome.check.why}", *calls, *kept])


def _add(parent: Element, tag: str, attributes: Mapping[str, str], text: str = "") -> Element:
    made = SubElement(parent, tag, {name: UNWRITABLE.sub("\ufffd", value) for name, value in attributes.items()})
    made.text = UNWRITABLE.sub("\ufffd", text) or None
    return made
