"""anon.latency: visitors get a quick answer, too."""

from __future__ import annotations

from chatkey_check.checks.net_latency import SLOW, TOO_SLOW
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import NOBODY, Finding, Severity
from chatkey_check.run import Run


@check(
    "anon.latency",
    group=NOBODY,
    severity=Severity.SHOULD,
    sent='the call of a visitor: POST {"jkt": …} without cookies; once more if it took a second',
    passes="the faster of the two takes less than 1 second; 5 seconds or more is a failure",
    hint="Check first whether there is a session. Without a session, answer at once.",
    mistakes=("the handler searches several stores for a session that does not exist",),
    needs=("anon.no-5xx",),
)
def latency(run: Run) -> Finding:
    """Most people on a page are not logged in, and the page waits for the endpoint's answer for these people too."""
    calls = run.calls
    answer = calls.anonymous
    if answer.seconds < SLOW:
        return passed(f"{answer.seconds * 1000:.0f} ms")
    again = calls.ask("the call of a visitor once more, to measure", calls.nobody, measured=True)
    quicker = min(answer.seconds, again.seconds)
    if quicker < SLOW:
        return passed(f"{quicker * 1000:.0f} ms")
    say = failed if quicker >= TOO_SLOW else warned
    return say(f"A visitor waits {quicker:.1f} s for the answer (the faster of two calls).", answer)
