"""jwt.compact: the token is exactly a JWT in compact form."""

from __future__ import annotations

from chatkey_check.calls.token import Token
from chatkey_check.judging.check import also_second, check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.mistakes.tokens import no_token, wrong_form
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run


@check(
    "jwt.compact",
    group=ANSWERS,
    severity=Severity.MUST,
    section="2.4",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="the token is exactly three base64url segments with dots between them: no padding, white space or prefix",
    hint="The widget uses the string unchanged: return what your JWT library's encode() gives, as text.",
    mistakes=(
        "Bearer, a quote or a newline is put around it",
        "base64 keeps its padding, or its + and /",
        "bytes, a promise or undefined was turned into text",
        "the signature was left out",
        "it is an encrypted token, or no JWT at all",
    ),
    mend={
        "Python": 'token = jwt.encode(claims, secret_key, algorithm="HS256")',
        "Node.js": 'const token = jwt.sign(claims, secretKey, { algorithm: "HS256" });',
        "PHP": "$token = JWT::encode($claims, $secretKey, 'HS256');",
    },
    needs=("resp.json-object",),
)
@also_second
def compact(_run: Run, token: Token) -> Finding:
    """The socket parses the token strictly. It refuses forms that a lenient JWT library accepts."""
    member = token.answer.member
    wrong = wrong_form(member) if isinstance(member, str) and member else no_token(member)
    return failed(wrong.message, token.answer, hint=wrong.hint) if wrong else passed()
