"""claim.type: the token opens a member's socket."""

from __future__ import annotations

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.calls.shared import Calls
from chatkey_e2e.gettoken.judging.findings import also_second, failed, passed
from chatkey_e2e.gettoken.model import PERSON, Finding, Severity, check


@check(
    "claim.type",
    group=PERSON,
    severity=Severity.MUST,
    section="2.4",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="type is the string user",
    hint='Set the claim type to "user".',
    mistakes=(
        "the claim is missing",
        "the role of the user is written into it",
        "User, or a list",
    ),
    mend={
        "Python": 'claims["type"] = "user"',
        "Node.js": 'claims.type = "user";',
        "PHP": "$claims['type'] = 'user';",
    },
    needs=("jwt.payload",),
)
@also_second
def type_(calls: Calls) -> Finding:
    """The kinds of token are told apart by it; each is refused where another belongs."""
    claims = calls.claims
    if claims.get("type") == "user":
        return passed()
    if "type" not in claims:
        hint = "type belongs into the claims; typ in the header is something else." if "typ" in claims else None
        return failed("There is no claim type.", calls.first, hint=hint)
    return failed(f"type is {reading.shown(claims['type'])}.", calls.first)
