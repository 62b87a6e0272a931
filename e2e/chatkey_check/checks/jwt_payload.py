"""jwt.payload: the claims are one JSON object that every parser reads in the same way."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run


@check(
    "jwt.payload",
    group=ANSWERS,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="the payload is a JSON object in UTF-8, without a byte order mark and without repeated members",
    hint="Pass your JWT library a dictionary of claims, and let the library write the JSON.",
    mistakes=(
        "the claims are put together from strings, so a claim is repeated",
        "a claim is NaN, or another value that JSON does not have",
        "the payload is not encoded in UTF-8",
        "the claims are encoded as JSON before the library encodes them",
    ),
    mend={
        "Python": 'claims = {"pid": provider_id, "uid": str(user.id), "type": "user"}',
        "Node.js": 'const claims = { pid: providerId, uid: String(user.id), type: "user" };',
        "PHP": "$claims = ['pid' => $providerId, 'uid' => (string) $user->id, 'type' => 'user'];",
    },
    needs=("jwt.compact",),
)
@every_token
def payload(_run: Run, token: Token) -> Finding:
    """If a claim appears twice, two programs that verify the token may use different values."""
    try:
        claims = reading.strict_object(token.compact.payload)
    except reading.Unreadable as unreadable:
        if unreadable.member:
            what = f"The claim {unreadable.reason}. Different verifiers use different values."
            return failed(what, token.answer, hint=f"Write {unreadable.member} only once.")
        hint = _hint(token.compact.payload)
        return failed(f"The payload cannot be read: {unreadable.reason}.", token.answer, hint=hint)
    if not claims:
        return failed("The payload is an empty object.", token.answer)
    return passed()


def _hint(raw: bytes) -> str | None:
    if raw.count(b".") == 2 and raw.startswith(b"ey"):
        return "Sign the claims: the payload is another token."
    if raw[:1] in b"\"'" and raw[:1]:
        return "Pass the dictionary to the library, not JSON: the payload is a string."
    if b"\0" in raw:
        return "Encode the payload in UTF-8: it looks like UTF-16."
    return None
