"""net.steady: the endpoint answers the same call in the same way every time."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import PRECONDITIONS, Finding, Phase, Severity
from chatkey_check.run import Run
from chatkey_check.words import plural


@check(
    "net.steady",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    sent="a repeat of every call that got a 5xx status or no answer",
    passes="no failed call succeeds when it is repeated; one is a warning",
    hint="Look in the backend's log for the failed calls. One of several workers may have wrong settings.",
    mistakes=(
        "one of several workers lacks a setting, a table or a file",
        "the database connections run out, or are closed while they are idle",
        "the handler crashes on a value that only some calls have",
    ),
    needs=("net.latency",),
    phase=Phase.LAST,
)
def steady(run: Run) -> Finding:
    """If some calls of the endpoint fail, members sometimes appear as visitors."""
    calls = run.calls
    flaky = calls.record.unsteady
    if not flaky:
        return passed()
    first = flaky[0]
    how = first.result
    told = (
        f"{len(flaky)} of {plural(len(calls.record.log), 'call')} failed ({how}), and succeeded when they were repeated"
    )
    say = failed if len(flaky) > 1 else warned
    return say(f"The endpoint is unreliable: {told}.", first)
