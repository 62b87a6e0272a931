"""net.steady: the endpoint answers the same call in the same way every time."""

from __future__ import annotations

from chatkey_check.calls.shared import Calls
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import WORKERS as HINT
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import PRECONDITIONS, Finding, Phase, Severity
from chatkey_check.run import Run
from chatkey_check.words import plural

SLOW = 1.0
FEWEST = 3
IN_A_ROW = 8


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
        return _slow_at_times(calls) or passed()
    first = flaky[0]
    how = first.result
    told = (
        f"{len(flaky)} of {plural(len(calls.record.log), 'call')} failed ({how}), and succeeded when they were repeated"
    )
    say = failed if len(flaky) > 1 else warned
    return say(f"The endpoint is unreliable: {told}.", first)


def _slow_at_times(calls: Calls) -> Finding | None:
    """If many calls were slow and most were not, measure calls in a row, each alone. Warn if some of them are slow."""
    answered = [done for done in calls.record.log if done.minted]
    slow = [done for done in answered if done.seconds >= SLOW]
    if len(slow) < FEWEST or len(slow) * 2 > len(answered):
        return None
    row = [calls.ask("a normal call, to measure its time", calls.member, measured=True) for _ in range(IN_A_ROW)]
    times = sorted(done.seconds for done in row)
    late = [done for done in row if done.seconds >= SLOW]
    if not late or times[0] >= SLOW / 2:
        return None
    what = f"The times alternate: {len(late)} of {len(row)} calls in a row take up to {times[-1]:.1f} s"
    return warned(f"{what}, and the others take {times[0]:.1f} s.", late[0], hint=f"One worker may be slow. {HINT}")
