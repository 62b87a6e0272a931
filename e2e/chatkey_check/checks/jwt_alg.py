"""jwt.alg: the token is signed with HS256."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import also_second, check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import ANSWERS, Blocked, Finding, Severity
from chatkey_check.run import Run


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
def alg(_run: Run, token: Token) -> Finding:
    """If a server believed the algorithm that a token names, an attacker could choose one that needs no secret."""
    try:
        header = token.header
    except Blocked:
        return failed("The token's header is not a JSON object.", token.answer)
    if "alg" not in header:
        return failed("The token's header has no alg.", token.answer)
    if header["alg"] == "HS256":
        return passed()
    shown = reading.shown(header["alg"])
    if str(header["alg"]).upper() == "HS256":
        return failed(
            f"alg is {shown}.", token.answer, hint="Write HS256 in capitals: names of algorithms are compared."
        )
    return failed(f"alg is {shown}.", token.answer)
