"""claim.exp-iat: exp and iat come from the same clock."""

from __future__ import annotations

from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import passed, warned
from chatkey_check.judging.times import LONGEST, SHORTEST, left, seconds
from chatkey_check.model import LIFETIME, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.words import duration

SAME = 120
"""Within this many seconds, a wrong exp - iat is the same mistake as a wrong lifetime, which claim.lifetime reports."""


@check(
    "claim.exp-iat",
    group=LIFETIME,
    severity=Severity.SHOULD,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="exp is 50 to 66 minutes after iat",
    hint="Read the clock once. Set iat to the time of the clock, and exp to an hour after iat.",
    mistakes=("iat is the time when the account was created or the person logged in",),
    mend={
        "Python": 'claims |= {"iat": now, "exp": now + 3600}',
        "Node.js": "Object.assign(claims, { iat: now, exp: now + 3600 });",
        "PHP": "$claims += ['iat' => $now, 'exp' => $now + 3600];",
    },
    needs=("claim.lifetime", "claim.iat"),
)
@every_token
def exp_iat(run: Run, token: Token) -> Finding:
    """The socket computes the token's lifetime as exp minus iat."""
    span = (seconds(token.claims, "exp") or 0) - (seconds(token.claims, "iat") or 0)
    if SHORTEST <= span <= LONGEST:
        return passed()
    if abs(span - left(run.calls, token.answer)) <= SAME:
        return passed("exp and iat have the same offset; claim.lifetime judges the lifetime")
    side = "after" if span > 0 else "before"
    return warned(f"exp is {duration(span)} {side} iat, although exp is about an hour from now.", token.answer)
