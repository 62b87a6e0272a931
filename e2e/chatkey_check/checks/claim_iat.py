"""claim.iat: the token says when it was made."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.times import DIVIDE, LEEWAY, TEN_DIGITS, not_seconds, shift, whole, zone_like
from chatkey_check.model import LIFETIME, Blocked, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.words import duration


@check(
    "claim.iat",
    group=LIFETIME,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="iat is a time in whole seconds since 1970, at most 60 seconds ahead",
    hint="Set iat to the current time in whole seconds since 1970.",
    mistakes=(
        "iat is in milliseconds, a string or a date",
        "the server's clock is ahead",
        "the library is configured not to set iat",
    ),
    mend={
        "Python": 'claims["iat"] = int(time.time())',
        "Node.js": "claims.iat = Math.floor(Date.now() / 1000);",
        "PHP": "$claims['iat'] = time();",
    },
    needs=("jwt.payload",),
)
@every_token
def iat(run: Run, token: Token) -> Finding:
    """The socket refuses a token whose iat is in the future.

    Without a usable iat, the socket cannot compute the token's lifetime, and also refuses the token.
    """
    calls = run.calls
    claims = token.claims
    value = whole(claims, "iat")
    if "iat" not in claims:
        return failed("The claim iat is missing.", token.answer)
    if value is None:
        return failed(f"iat is {reading.described(claims['iat'])}, not an integer.", token.answer)
    if value not in TEN_DIGITS:
        hint = DIVIDE if value >= TEN_DIGITS.stop else None
        return failed(
            not_seconds(value, "iat") if value else "iat is 0: the time was not read.", token.answer, hint=hint
        )
    ahead = value - calls.now_at(token.answer)
    if ahead <= LEEWAY:
        return passed()
    if zone_like(ahead) and shift(calls, token.answer) is not None:
        raise Blocked("claim.lifetime")
    hint = "Correct the clock of the server that signs (NTP), and use UTC."
    return failed(f"iat is {duration(ahead)} ahead of the clock.", token.answer, hint=hint)
