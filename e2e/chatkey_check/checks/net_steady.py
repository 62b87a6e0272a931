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
    sent="once more, every call that is answered 5xx or not at all",
    passes="no call that fails is answered when it is repeated; one is a warning",
    hint="Look for the calls that failed in the backend's log; one of several workers may be set up otherwise.",
    mistakes=(
        "one of several workers lacks a setting, a table or a file",
        "connections to the database run out, or are cut while they are idle",
        "a crash on a value that only some calls have",
    ),
    needs=("net.latency",),
    phase=Phase.LAST,
)
def steady(run: Run) -> Finding:
    """If the call fails now and then, members now and then appear as visitors."""
    calls = run.calls
    flaky = calls.record.unsteady
    if not flaky:
        return passed()
    first = flaky[0]
    how = f"{first.status}" if first.status else str(first.broken)
    told = f"{len(flaky)} of {plural(len(calls.record.log), 'call')} failed ({how}), and repeated, each was answered"
    say = failed if len(flaky) > 1 else warned
    return say(f"The endpoint is flaky: {told}.", first)
