"""claim.exp-absolute: exp is a point in time, in seconds since 1970."""

from __future__ import annotations

from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.times import DIVIDE, TEN_DIGITS, not_seconds, whole
from chatkey_check.model import LIFETIME, Finding, Severity
from chatkey_check.run import Run


@check(
    "claim.exp-absolute",
    group=LIFETIME,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="exp is a time in seconds since 1970: ten digits",
    hint="Set exp to the time at which the token expires, in seconds since 1970, for example to now + 3600.",
    mistakes=(
        "exp is in milliseconds: Date.now() was not divided by 1000",
        "exp is the lifetime itself: 3600",
    ),
    mend={
        "Python": 'claims["exp"] = int(time.time()) + 3600',
        "Node.js": "claims.exp = Math.floor(Date.now() / 1000) + 3600;",
        "PHP": "$claims['exp'] = time() + 3600;",
    },
    needs=("claim.exp-type",),
)
@every_token
def exp_absolute(_run: Run, token: Token) -> Finding:
    """An exp of 3600 is 01:00 on 1 January 1970, and an exp in milliseconds is a time after the year 50,000."""
    value = whole(token.claims, "exp") or 0
    if value in TEN_DIGITS:
        return passed()
    if value >= TEN_DIGITS.stop:
        return failed(not_seconds(value, "exp"), token.answer, hint=f"{DIVIDE} Then add 3600.")
    return failed(not_seconds(value, "exp"), token.answer)
