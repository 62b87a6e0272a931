"""jwt.alg: the token is signed with HS256."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import ANSWERS, Blocked, Finding, Severity
from chatkey_check.run import Run


@check(
    "jwt.alg",
    group=ANSWERS,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="alg in the token's header is exactly HS256",
    hint="Sign with HS256. The socket refuses HS384, HS512, RS256, none, and the name HS256 in any other form.",
    mistakes=(
        "the library's default is another algorithm",
        "the algorithm was set to none for a test",
        "alg is missing or in lower case",
    ),
    mend={
        "Python": 'token = jwt.encode(claims, secret_key, algorithm="HS256")',
        "Node.js": 'const token = jwt.sign(claims, secretKey, { algorithm: "HS256" });',
        "PHP": "$token = JWT::encode($claims, $secretKey, 'HS256');",
    },
    needs=("jwt.compact",),
)
@every_token
def alg(_run: Run, token: Token) -> Finding:
    """If a server trusted the alg in a token, an attacker could choose an algorithm without a secret."""
    try:
        header = token.header
    except Blocked:
        return failed("The token's header is not a JSON object.", token.answer)
    if "alg" not in header:
        return failed("alg is missing in the token's header.", token.answer)
    if header["alg"] == "HS256":
        return passed()
    shown = reading.shown(header["alg"])
    if str(header["alg"]).upper() == "HS256":
        return failed(
            f"alg is {shown}, not HS256.", token.answer, hint="Write HS256 in capitals: the name is case-sensitive."
        )
    return failed(f"alg is {shown}, not HS256.", token.answer)
