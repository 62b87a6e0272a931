"""jwt.alg: the token is signed with HS256."""

from __future__ import annotations

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.calls import Calls
from chatkey_e2e.gettoken.findings import failed, passed
from chatkey_e2e.gettoken.model import ANSWERS, Blocked, Finding, Severity, check


@check(
    "jwt.alg",
    group=ANSWERS,
    severity=Severity.MUST,
    section="2.4",
    sent="the same call",
    passes="alg in the token's header is exactly HS256",
    hint="Sign with HS256: HS384, HS512, RS256, none and other spellings are refused.",
    needs=("jwt.compact",),
)
def alg(calls: Calls) -> Finding:
    """A verifier that let the token choose its algorithm could be talked into any."""
    try:
        header = calls.header
    except Blocked:
        return failed("The token's header is not a JSON object.", calls.first)
    if "alg" not in header:
        return failed("The token's header has no alg.", calls.first)
    if header["alg"] == "HS256":
        return passed()
    shown = reading.shown(header["alg"])
    if str(header["alg"]).upper() == "HS256":
        return failed(
            f"alg is {shown}.", calls.first, hint="Write HS256 in capitals: names of algorithms are compared."
        )
    return failed(f"alg is {shown}.", calls.first)
