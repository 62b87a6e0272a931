"""The exit status of `chatkey conform`."""

from __future__ import annotations

from enum import IntEnum

from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.outcome import Result


class Exit(IntEnum):
    """What a run ends with; the last is of a run that did not start."""

    FINE = 0
    FAILED = 1
    NOT_JUDGED = 3
    NOT_STARTED = 4


def status(result: Result) -> Exit:
    """Return the exit status: what is not declared is no reason, what the suite did not bring about is one."""
    if result.failed:
        return Exit.FAILED
    fine = {Verdict.NOT_APPLICABLE}
    if result.of(Verdict.ERROR) or any(sentence.verdict not in fine for sentence in result.unjudged):
        return Exit.NOT_JUDGED
    return Exit.FINE
