"""claim.renew: a later call returns a token that expires later."""

from __future__ import annotations

from chatkey_check.checks.claim_fresh import GONE
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.times import seconds, stands_still
from chatkey_check.model import LIFETIME, Finding, Phase, Severity
from chatkey_check.run import Run
from chatkey_check.words import duration

WORKERS_APART = 15
"""Tolerance in seconds: two workers may answer, and their clocks may differ a little."""


@check(
    "claim.renew",
    group=LIFETIME,
    severity=Severity.MUST,
    section="3",
    sent="a call with the first jkt, a second after the first",
    passes="exp is not earlier than in the first call, and not fixed",
    hint="Compute exp in each request, because the widget calls again before the token expires and needs a later exp.",
    mistakes=(
        "exp is an hour after the login",
        "exp is the end of the session",
    ),
    mend={
        "Python": 'claims["exp"] = int(time.time()) + 3600',
        "Node.js": "claims.exp = Math.floor(Date.now() / 1000) + 3600;",
        "PHP": "$claims['exp'] = time() + 3600;",
    },
    needs=("claim.fresh",),
    phase=Phase.LATER,
)
def renew(run: Run) -> Finding:
    """Shortly before the token expires, the widget calls getToken again.

    If the new token has the same exp, the member is logged out of the chat.
    """
    calls, token = run.calls, run.calls.token
    answer = calls.renewal
    before, after = seconds(token.claims, "exp"), seconds(answer.claims, "exp")
    if not answer.minted or before is None or after is None:
        return failed(f"The second call got no token ({answer.result}).", answer, hint=GONE)
    if after < before - WORKERS_APART:
        return failed(f"exp is {duration(before - after)} earlier than in the first call.", answer)
    if after == before and stands_still(calls, token, "exp"):
        return _fixed(calls.later)
    return passed()


def _fixed(answer: Exchange) -> Finding:
    return failed("exp is the same as in the first call, also for a new jkt. exp may be fixed for the session.", answer)
