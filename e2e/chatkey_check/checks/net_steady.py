"""net.steady: the endpoint answers the same call in the same way every time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import WORKERS, failed, passed, warned
from chatkey_check.model import PRECONDITIONS, Finding, Phase, Severity, Skipped
from chatkey_check.run import Run
from chatkey_check.words import plural

SLOW = 1.0
FEWEST = 3


@check(
    "net.steady",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    sent="a repeat of every call that got a 5xx status or no answer",
    passes="no failed call succeeds when it is repeated; if one call does, this is a warning",
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
    shut_out = calls.shut_out if calls.record.ends_with_refusals else None
    if shut_out is not None:
        raise Skipped(shut_out)
    flaky = calls.record.unsteady
    if not flaky:
        return next(filter(None, (_slow_at_times(calls, normal) for normal in _kinds(calls))), passed())
    first = flaky[0]
    how = first.result
    told = (
        f"{len(flaky)} of {plural(len(calls.record.log), 'call')} failed ({how}), and succeeded when they were repeated"
    )
    say = failed if len(flaky) > 1 else warned
    return say(f"The endpoint is unreliable: {told}.", first)


def _kinds(calls: Calls) -> Iterator[Exchange]:
    """Yield a normal call of the member, and of a visitor."""
    if calls.target.login is not None and calls.first.minted:
        yield calls.first
    if calls.anonymous.succeeded:
        yield calls.anonymous


def _slow_at_times(calls: Calls, normal: Exchange) -> Finding | None:
    """If many calls of a kind were slow and most were not, repeat one in a row. Warn if some repeats are slow."""
    answered = [done for done in calls.record.log if done.succeeded and done.minted is normal.minted]
    slow = [done for done in answered if done.seconds >= SLOW]
    if len(slow) < FEWEST or len(slow) * 2 > len(answered):
        return None
    row = calls.repeated(normal)[1:]
    fastest = min(done.seconds for done in row)
    if fastest >= SLOW / 2:
        return None
    return alternating(row, partial(_on_time, fastest), hint=f"One worker may be slow. {WORKERS}")


def _on_time(fastest: float, done: Exchange) -> Finding:
    if done.seconds < SLOW:
        return passed()
    return warned(f"A call took {done.seconds:.1f} s, and the fastest of the same calls took {fastest:.1f} s.", done)
