"""jwt.size: the token is small."""

from __future__ import annotations

from chatkey_check.calls.token import Token
from chatkey_check.judging.check import also_second, check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run

LARGE = 4096
TOO_LARGE = 8192


@check(
    "jwt.size",
    group=ANSWERS,
    severity=Severity.SHOULD,
    sent='the honest call: POST {"jkt": …} as the login',
    passes="at most 4,096 characters; more than 8,192 are a failure",
    hint="Keep profile data, roles and pictures out of the token: pid, uid, type, cnf, iat, exp, name, email, avatar.",
    mistakes=(
        "roles or permissions are copied into the token",
        "the picture itself is in avatar, not its address",
        "the whole user is written into a claim",
    ),
    needs=("jwt.compact",),
)
@also_second
def size(_run: Run, token: Token) -> Finding:
    """The browser stores the token and sends it with every connection. The socket reads at most 8,192 characters."""
    length = len(token.text)
    if length <= LARGE:
        return passed(f"{length} characters")
    say = failed if length > TOO_LARGE else warned
    return say(f"The token has {length:,} characters.", token.answer)
