"""claim.nbf: the token is valid immediately."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.times import DIVIDE, LEEWAY, TEN_DIGITS, not_seconds, whole
from chatkey_check.model import LIFETIME, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.words import duration


@check(
    "claim.nbf",
    group=LIFETIME,
    severity=Severity.MUST,
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="nbf is absent, or a time in whole seconds since 1970, at most 60 seconds ahead",
    hint="Remove nbf, or set nbf to the value of iat.",
    mistakes=(
        "nbf is set a little ahead as a precaution",
        "nbf is in milliseconds, or a string",
    ),
    mend={
        "Python": 'claims.pop("nbf", None)',
        "Node.js": "delete claims.nbf;",
        "PHP": "unset($claims['nbf']);",
    },
    needs=("jwt.payload",),
)
@every_token
def nbf(run: Run, token: Token) -> Finding:
    """The widget connects immediately after receiving the token. Therefore the token must be valid at once."""
    claims = token.claims
    if claims.get("nbf") is None:
        return passed()
    value = whole(claims, "nbf")
    if value is None:
        return failed(f"nbf is {reading.described(claims['nbf'])}, not an integer.", token.answer)
    if value >= TEN_DIGITS.stop:
        return failed(not_seconds(value, "nbf"), token.answer, hint=DIVIDE)
    ahead = value - run.calls.now_at(token.answer)
    if ahead <= LEEWAY:
        return passed()
    return failed(f"nbf is {duration(ahead)} ahead. The token is refused until then.", token.answer)
