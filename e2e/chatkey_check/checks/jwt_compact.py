"""jwt.compact: the token is a compact JWS, which consists of three parts."""

from __future__ import annotations

from chatkey_check.calls.token import Token
from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import repeats_alternate
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.mistakes.tokens import no_token, wrong_form
from chatkey_check.model import ANSWERS, Finding, Severity, Verdict
from chatkey_check.run import Run

ONE_WORKER = "A session in the memory of one worker is unknown to the other workers: keep sessions in a shared store."


@check(
    "jwt.compact",
    group=ANSWERS,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="the token is three base64url segments separated by dots, without padding, white space or a prefix",
    hint="Return the string from your JWT library's encode() unchanged, because the widget does not repair the token.",
    mistakes=(
        "the token has the prefix Bearer, quotes or a newline",
        "the segments are base64 with padding, or with + and /",
        "bytes, a promise or undefined was turned into a string",
        "the signature is missing",
        "the token is encrypted, or is not a JWT",
    ),
    mend={
        "Python": 'token = jwt.encode(claims, secret_key, algorithm="HS256")',
        "Node.js": 'const token = jwt.sign(claims, secretKey, { algorithm: "HS256" });',
        "PHP": "$token = JWT::encode($claims, $secretKey, 'HS256');",
    },
    needs=("resp.json-object",),
)
def compact(run: Run) -> Finding:
    """The socket parses the token strictly, and refuses forms that a lenient JWT library accepts."""
    found = _each(run)
    alternates = repeats_alternate(run.calls, _judged, hint=ONE_WORKER) if found.verdict is Verdict.PASS else None
    return alternates or found


@every_token
def _each(_run: Run, token: Token) -> Finding:
    return _judged(token.answer)


def _judged(answer: Exchange) -> Finding:
    member = answer.member
    if not answer.succeeded:
        return passed()
    wrong = wrong_form(member) if isinstance(member, str) and member else no_token(member)
    return failed(wrong.message, answer, hint=wrong.hint) if wrong else passed()
