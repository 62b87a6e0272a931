"""The exit status of `chatkey conform`."""

from __future__ import annotations

from enum import IntEnum

from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.outcome import Result


class Exit(IntEnum):
    """The exit statuses. `NOT_STARTED` means that the run did not start or was interrupted."""

    FINE = 0
    FAILED = 1
    NOT_JUDGED = 3
    NOT_STARTED = 4


def status(result: Result) -> Exit:
    """Return the exit status. It ignores undeclared capabilities, not harness errors or other unjudged sentences."""
    if result.failed:
        return Exit.FAILED
    fine = {Verdict.NOT_APPLICABLE}
    if result.of(Verdict.ERROR) or any(sentence.verdict not in fine for sentence in result.unjudged):
        return Exit.NOT_JUDGED
    return Exit.FINE
