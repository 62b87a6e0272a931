"""jwt.size: the token is small."""

from __future__ import annotations

from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run

LARGE = 4096
TOO_LARGE = 8192


@check(
    "jwt.size",
    group=ANSWERS,
    severity=Severity.SHOULD,
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="the token has at most 4,096 characters; more than 8,192 are a failure",
    hint="Put only pid, uid, type, cnf, iat, exp, name, email and avatar into the token, and no roles, pictures or "
    "other profile data.",
    mistakes=(
        "roles or permissions are copied into the token",
        "avatar contains the picture instead of its address",
        "a claim contains the whole user object",
    ),
    needs=("jwt.compact",),
)
@every_token
def size(_run: Run, token: Token) -> Finding:
    """The browser stores the token and sends the token with every connection.

    The socket reads at most 8,192 characters.
    """
    length = len(token.text)
    if length <= LARGE:
        return passed(f"{length} characters")
    say = failed if length > TOO_LARGE else warned
    return say(f"The token has {length:,} characters.", token.answer)
