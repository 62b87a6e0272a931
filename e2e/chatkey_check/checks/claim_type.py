"""claim.type: the token has the type that a member's socket accepts."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PERSON, Finding, Severity
from chatkey_check.run import Run


@check(
    "claim.type",
    group=PERSON,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes='type is the string "user"',
    hint='Set the claim type to "user".',
    mistakes=(
        "the claim is missing",
        "type contains the user's role",
        "type is spelled User, or is a list",
    ),
    mend={
        "Python": 'claims["type"] = "user"',
        "Node.js": 'claims.type = "user";',
        "PHP": "$claims['type'] = 'user';",
    },
    needs=("jwt.payload",),
)
@every_token
def type_(_run: Run, token: Token) -> Finding:
    """The claim `type` distinguishes the kinds of token. The server refuses a token of the wrong kind."""
    claims = token.claims
    if claims.get("type") == "user":
        return passed()
    if "type" not in claims:
        hint = "Put type into the claims. typ in the header has another meaning." if "typ" in claims else None
        return failed("The claim type is missing.", token.answer, hint=hint)
    return failed(f'type is {reading.shown(claims["type"])}, not "user".', token.answer)
