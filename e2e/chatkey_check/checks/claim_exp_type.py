"""claim.exp-type: exp is a JSON integer."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.times import whole
from chatkey_check.model import LIFETIME, Finding, Severity
from chatkey_check.run import Run

NOW = "Set exp to the time of expiry in whole seconds since 1970, for example to now + 3600."


@check(
    "claim.exp-type",
    group=LIFETIME,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="exp is an integer",
    hint=NOW,
    mistakes=(
        "exp is a string, a date or a fraction",
        "the claim has another name, such as expires",
        "the library is configured not to set exp",
    ),
    mend={
        "Python": 'claims["exp"] = int(time.time()) + 3600',
        "Node.js": "claims.exp = Math.floor(Date.now() / 1000) + 3600;",
        "PHP": "$claims['exp'] = time() + 3600;",
    },
    needs=("jwt.payload",),
)
@every_token
def exp_type(_run: Run, token: Token) -> Finding:
    """exp must be a number. Without exp, the token never expires, and a string cannot be compared with the time."""
    claims = token.claims
    if whole(claims, "exp") is not None:
        return passed()
    if "exp" not in claims:
        near = next(
            (name for name in claims if name.lower() in {"exp", "expires", "expiry", "expires_at", "expiresin"}), ""
        )
        in_header = "exp" in token.header
        instead = (
            f"; there is a claim called {near!r}" if near else "; it is in the token's header" if in_header else ""
        )
        return failed(f"The claim exp is missing{instead}.", token.answer)
    value = claims["exp"]
    shown = f"exp is {reading.described(value)}, not an integer."
    if isinstance(value, str) and not value.isdigit():
        return failed(shown, token.answer, hint=f"Send a number, not a date. {NOW}")
    if isinstance(value, float):
        return failed(shown, token.answer, hint="Remove the fraction: int(time.time()) + 3600, or Math.floor(…).")
    return failed(shown, token.answer)
