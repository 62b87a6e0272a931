"""Builds `report.json` with all results of a run. The other report formats are made from it (docs/schemas)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from chatkey_conform.data import contract_version
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.reports.exits import status
from chatkey_conform.running.outcome import JUDGED, Outcome, Result, Sentence
from chatkey_conform.running.runner import missing
from chatkey_peer.redaction import Masks
from chatkey_protocol.names import SUBPROTOCOL

Json = dict[str, Any]

FORMAT: Final = 1
GROUPS: Final = {
    "1": "Modes",
    "2": "Identities and tokens",
    "3": "Sessions",
    "4": "Endpoints",
    "5": "Keys and state",
    "6": "Popup",
    "7": "Refusals",
    "8": "Times",
    "9": "Versions",
    "D": "Decisions of the profile",
}
"""The parts of the contract, by the first character of a sentence's id."""


@dataclass(frozen=True)
class About:
    """The judged service or widget. A widget's `address` is that of its script, and its `grade` is `widget`.

    No report shows the `secrets` of the run.
    """

    name: str
    version: str
    address: str
    grade: str
    revision: int
    capabilities: frozenset[str]
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


def document(result: Result, about: About, *, suite: str, started: str, part: str = "") -> Json:
    """Return the report, in which all secrets and tokens are masked. All other forms are made from it."""
    judged = sum(result.counts[verdict] for verdict in JUDGED)
    report = {
        "format": FORMAT,
        "profile": SUBPROTOCOL,
        "revision": about.revision,
        "contract": contract_version(),
        "suite": suite,
        "target": {
            "name": about.name,
            "version": about.version,
            "base_url": about.address,
            "grade": about.grade,
            "capabilities": sorted(about.capabilities),
        },
        "started": started,
        "seconds": round(result.seconds, 1),
        "exit": int(status(result, part=part)),
        "part": part,
        "scored": len(result.scored),
        "judged": judged,
        "counts": {verdict.value: result.counts[verdict] for verdict in Verdict},
        "cases": {verdict.value: len(result.of(verdict)) for verdict in Verdict},
        "sentences": [_sentence(sentence) for sentence in result.sentences],
        "evidence": [_outcome(outcome) for outcome in result.of(*(set(Verdict) - {Verdict.PASSED}))],
        "unjudged_must": [{"id": sentence.id, "reason": _why(sentence)} for sentence in result.unjudged],
        "missing": missing(result.outcomes),
        "mended": result.mended,
        "times": {outcome.case.id: round(outcome.seconds, 2) for outcome in result.outcomes if outcome.seconds},
    }
    return Json(Masks(about.secrets).value(report))


def _sentence(sentence: Sentence) -> Json:
    return {
        "id": sentence.id,
        "group": GROUPS[sentence.id[0]],
        "level": sentence.level,
        "text": sentence.text,
        "verdict": sentence.verdict.value,
        "reason": sentence.reason,
        "passed": sum(outcome.verdict is Verdict.PASSED for outcome in sentence.outcomes),
        "cases": len(sentence.outcomes),
        "seconds": round(sum(outcome.seconds for outcome in sentence.outcomes), 2),
        "pages": sorted({outcome.case.page for outcome in sentence.outcomes}),
        "wrong": [
            outcome.case.id
            for outcome in sentence.outcomes
            if outcome.verdict in {Verdict.FAILED, Verdict.KNOWN, Verdict.ERROR}
        ],
    }


def _outcome(outcome: Outcome) -> Json:
    return {
        "id": outcome.case.id,
        "title": outcome.case.title,
        "group": outcome.case.group,
        "page": outcome.case.page,
        "sentences": list(outcome.case.sentences),
        "verdict": outcome.verdict.value,
        "reason": outcome.reason,
        "tries": outcome.tries,
        "seconds": round(outcome.seconds, 2),
        "steps": [{"sent": step.sent, "came": step.came} for step in outcome.steps],
    }


def _why(sentence: Sentence) -> str:
    return sentence.reason or "none of its cases ran"
