"""jwt.alg: the token is signed with HS256."""

from __future__ import annotations

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.calls.shared import Calls
from chatkey_e2e.gettoken.judging.findings import also_second, failed, passed
from chatkey_e2e.gettoken.model import ANSWERS, Blocked, Finding, Severity, check


@check(
    "jwt.alg",
    group=ANSWERS,
    severity=Severity.MUST,
    section="2.4",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="alg in the token's header is exactly HS256",
    hint="Sign with HS256: HS384, HS512, RS256, none and other spellings are refused.",
    mistakes=(
        "the library's default is another algorithm",
        "it was set to none to try something out",
        "alg is missing, or written in small letters",
    ),
    mend={
        "Python": 'token = jwt.encode(claims, secret_key, algorithm="HS256")',
        "Node.js": 'const token = jwt.sign(claims, secretKey, { algorithm: "HS256" });',
        "PHP": "$token = JWT::encode($claims, $secretKey, 'HS256');",
    },
    needs=("jwt.compact",),
)
@also_second
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
