"""Defines the exit status of `chatkey conform`."""

from __future__ import annotations

from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.outcome import JUDGED, Result
from chatkey_conform.running.runner import SMOKE
from chatkey_peer.exits import Exit


def status(result: Result, *, part: str = "") -> Exit:
    """Return the exit status. Sentences that need undeclared capabilities do not count.

    `part` describes the cases that an option selected. The status is then about these cases only.
    """
    smoked = [outcome for outcome in result.outcomes if outcome.case.id.startswith(SMOKE)]
    if smoked and all(outcome.verdict not in JUDGED - {Verdict.FAILED} for outcome in smoked):
        return Exit.NOT_STARTED
    if result.failed:
        return Exit.FAILED
    if result.of(Verdict.ERROR):
        return Exit.OURS
    if not part and any(sentence.verdict is not Verdict.NOT_APPLICABLE for sentence in result.unjudged):
        return Exit.NOT_ALL_JUDGED
    return Exit.CLEAN
