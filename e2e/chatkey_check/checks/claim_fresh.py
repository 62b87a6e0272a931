"""claim.fresh: the token was made for this call."""

from __future__ import annotations

from functools import partial

from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.times import MINUTE, STALE, left, shift, stands_still
from chatkey_check.model import LIFETIME, Finding, Phase, Severity
from chatkey_check.run import Run
from chatkey_check.words import duration

FRESH = 45 * MINUTE
SLACK = 5
GONE = "The first call got a token. The backend's log should say why this call did not get one."

BROWSERS = "Do not limit the number of browsers of a person: each private window is a new browser."


@check(
    "claim.fresh",
    group=LIFETIME,
    severity=Severity.MUST,
    section="3",
    sent="a call with a new jkt, a second after the first",
    passes="at least 45 minutes are left, iat is at most 5 minutes ago, and iat or exp has changed",
    hint="Read the clock in each request: the times were computed at program start, or the token was cached.",
    mistakes=(
        "the clock is read at program start: at the top of a module, or as the default of a parameter",
        "the token is cached for longer than a few minutes",
    ),
    mend={
        "Python": "now = int(time.time())",
        "Node.js": "const now = Math.floor(Date.now() / 1000);",
        "PHP": "$now = time();",
    },
    needs=("claim.lifetime", "claim.iat", "claim.jkt-follows"),
    phase=Phase.LATER,
)
def fresh(run: Run) -> Finding:
    """A token that was made long ago expires soon. Nobody can connect with an expired token."""
    calls, token = run.calls, run.calls.token
    answer = calls.later
    if not answer.minted and calls.renewal.minted:
        what = f"A new browser got no token ({answer.result}); the first browser still gets one."
        return failed(what, answer, hint=BROWSERS)
    if not answer.minted:
        return failed(f"A later call got no token ({answer.result}).", answer, hint=GONE)
    if stands_still(calls, token, "iat") and stands_still(calls, token, "exp"):
        return failed("iat and exp are the same as in the first call: the clock is not read in each request.", answer)
    made = [answer, *(one for one in calls.answers_to(calls.member)[1:] if one.minted)]
    return alternating(made, partial(_made_now, calls)) or passed()


def _made_now(calls: Calls, answer: Exchange) -> Finding:
    span, behind = left(calls, answer), shift(calls, answer)
    if behind is not None and behind < -STALE and span >= FRESH - SLACK:
        hint = "Correct the clock of the server that signs (NTP)."
        return failed(f"A token made for a new jkt has an iat {duration(-behind)} ago.", answer, hint=hint)
    if behind is not None and behind < 0 and span < FRESH - SLACK:
        rest = f"expires in {duration(span)}" if span > 0 else f"expired {duration(-span)} ago"
        return failed(f"A token made for a new jkt {rest}: it was issued {duration(-behind)} ago.", answer)
    return passed()
