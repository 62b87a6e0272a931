"""claim.lifetime: the token is valid for about an hour."""

from __future__ import annotations

from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.judging.times import (
    LEEWAY,
    LONGEST,
    MINUTE,
    SHORTEST,
    issued_now,
    left,
    lifetime_cause,
    lifetime_from_iat,
    shift,
    stands_still,
    zone_like,
)
from chatkey_check.model import LIFETIME, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.words import duration

TOO_SHORT = 2 * MINUTE
TOO_LONG = 71 * MINUTE
REUSABLE = 45 * MINUTE
SLACK = 5
"""Tolerance in seconds: rounding loses one, and the answer takes time to arrive."""


@check(
    "claim.lifetime",
    group=LIFETIME,
    severity=Severity.MUST,
    section="2.4, 8",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="exp is 50 to 66 minutes from now; 2 to 50 and 66 to 71 minutes are a warning",
    hint="Set exp to now + 3600.",
    mistakes=(
        "local time was used as UTC, for example utcnow() without a time zone",
        "an hour in milliseconds was added to seconds",
        "the token lives for a day or a month, like your own sessions",
    ),
    mend={
        "Python": 'claims["exp"] = int(time.time()) + 3600',
        "Node.js": "claims.exp = Math.floor(Date.now() / 1000) + 3600;",
        "PHP": "$claims['exp'] = time() + 3600;",
    },
    needs=("claim.exp-absolute",),
)
@every_token
def lifetime(run: Run, token: Token) -> Finding:
    """If a token's life is too short, the widget has to call again and again.

    If a token's life is too long, anyone who copied the token can use it for just as long.
    """
    calls = run.calls
    span = left(calls, token.answer)
    if SHORTEST - SLACK <= span <= LONGEST + SLACK:
        return passed(duration(span))
    ahead = shift(calls, token.answer)
    if ahead is not None and abs(ahead) > LEEWAY:
        if zone_like(ahead) and not stands_still(calls, token, "iat"):
            side = "ahead of" if ahead > 0 else "behind"
            hint = "Use UTC: time.time(), Date.now(), time(). The cause is a local time used as UTC, or the reverse."
            return failed(
                f"iat and exp are {duration(ahead)} {side} the clock: the time zone is wrong.", token.answer, hint=hint
            )
        if ahead > 0 or span < REUSABLE:
            return passed("exp is an hour after iat; iat itself is not the current time")
    cause, hint = lifetime_from_iat(token.claims) if issued_now(calls, token.answer) else lifetime_cause(span)
    say = warned if TOO_SHORT - SLACK <= span <= TOO_LONG + SLACK else failed
    return say(f"{cause[:1].upper()}{cause[1:]}; about an hour is expected.", token.answer, hint=hint)
