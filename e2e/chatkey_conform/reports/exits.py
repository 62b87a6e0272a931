"""Defines the exit status of `chatkey conform`."""

from __future__ import annotations

from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.outcome import Result
from chatkey_peer.exits import Exit


def status(result: Result) -> Exit:
    """Return the exit status. Sentences that need undeclared capabilities do not count."""
    if result.failed:
        return Exit.FAILED
    if result.of(Verdict.ERROR):
        return Exit.OURS
    if any(sentence.verdict is not Verdict.NOT_APPLICABLE for sentence in result.unjudged):
        return Exit.NOT_ALL_JUDGED
    return Exit.CLEAN
