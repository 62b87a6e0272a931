"""jwt.payload: the claims are one JSON object that every parser reads in the same way."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import also_second, check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run


@check(
    "jwt.payload",
    group=ANSWERS,
    severity=Severity.MUST,
    section="2.4",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="the payload is a JSON object in UTF-8, without byte order mark, every member once",
    hint="Give your JWT library one dictionary of claims, and let it write the JSON.",
    mistakes=(
        "the claims are joined from texts, and one stands there twice",
        "NaN, or another value that is no JSON",
        "another encoding than UTF-8",
        "the claims are encoded as JSON before the library does it",
    ),
    mend={
        "Python": 'claims = {"pid": provider_id, "uid": str(user.id), "type": "user"}',
        "Node.js": 'const claims = { pid: providerId, uid: String(user.id), type: "user" };',
        "PHP": "$claims = ['pid' => $providerId, 'uid' => (string) $user->id, 'type' => 'user'];",
    },
    needs=("jwt.compact",),
)
@also_second
def payload(_run: Run, token: Token) -> Finding:
    """If a claim appears twice, verifiers disagree about which value counts."""
    try:
        claims = reading.strict_object(token.compact.payload)
    except reading.Unreadable as unreadable:
        if unreadable.member:
            what = f"The claim {unreadable.reason}: verifiers disagree which value counts."
            return failed(what, token.answer, hint=f"Write {unreadable.member} once.")
        hint = _hint(token.compact.payload)
        return failed(f"The payload cannot be used: {unreadable.reason}.", token.answer, hint=hint)
    if not claims:
        return failed("The payload is an empty object.", token.answer)
    return passed()


def _hint(raw: bytes) -> str | None:
    if raw.count(b".") == 2 and raw.startswith(b"ey"):
        return "The payload is a token itself: sign the claims, not another token."
    if raw[:1] in b"\"'" and raw[:1]:
        return "The payload is a string: give the library the dictionary, not its JSON text."
    if b"\0" in raw:
        return "Write the payload in UTF-8; this looks like UTF-16."
    return None
