"""claim.exp-type: exp is a JSON integer."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import also_second, check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.times import whole
from chatkey_check.model import LIFETIME, Finding, Severity
from chatkey_check.run import Run

NOW = "exp must be the whole seconds since 1970 at which the token ends: now + 3600."


@check(
    "claim.exp-type",
    group=LIFETIME,
    severity=Severity.MUST,
    section="2.4",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="exp is there, and an integer",
    hint=NOW,
    mistakes=(
        "a text, a date or a fraction",
        "the claim is called expires",
        "the library was told to leave exp out",
    ),
    mend={
        "Python": 'claims["exp"] = int(time.time()) + 3600',
        "Node.js": "claims.exp = Math.floor(Date.now() / 1000) + 3600;",
        "PHP": "$claims['exp'] = time() + 3600;",
    },
    needs=("jwt.payload",),
)
@also_second
def exp_type(_run: Run, token: Token) -> Finding:
    """exp must be a number: without it the token never expires, and a string cannot be compared with the time."""
    claims = token.claims
    if whole(claims, "exp") is not None:
        return passed()
    if "exp" not in claims:
        near = next(
            (name for name in claims if name.lower() in {"exp", "expires", "expiry", "expires_at", "expiresin"}), ""
        )
        in_header = "exp" in token.header
        instead = f"; there is one called {near!r}" if near else "; it stands in the header" if in_header else ""
        return failed(f"There is no claim exp{instead}.", token.answer)
    value = claims["exp"]
    shown = f"exp is {reading.described(value)}, not an integer."
    if isinstance(value, str) and not value.isdigit():
        return failed(shown, token.answer, hint=f"A date is no number. {NOW}")
    if isinstance(value, float):
        return failed(shown, token.answer, hint="Cut the fraction off: int(time.time()) + 3600, Math.floor(…).")
    return failed(shown, token.answer)
