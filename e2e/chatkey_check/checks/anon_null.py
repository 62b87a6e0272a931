"""anon.null: a visitor gets null instead of a token."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.evidence.leaks import whole
from chatkey_check.exchange import MISSING, Exchange
from chatkey_check.judging.check import check, every_visitor
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import NOBODY, Finding, Severity
from chatkey_check.reading import holds_bound_token
from chatkey_check.run import Run


@check(
    "anon.null",
    group=NOBODY,
    severity=Severity.MUST,
    section="4.7",
    sent='the call of a visitor: POST {"jkt": …} without cookies; then a second call with the cookies that were set',
    passes="`token` is null (with a 4xx status it may be missing), and there is no token elsewhere in the answer",
    hint='If nobody is logged in, return {"token": null}, and not "", "null", false, {} or a guest\'s token.',
    mistakes=(
        '`token` is an empty string, or the string "null"',
        "`token` is a token for a guest user",
        "the look-up of the user returns the first row if it finds none",
    ),
    mend={
        "Python": 'return {"token": None}',
        "Node.js": "response.json({ token: null });",
        "PHP": "echo json_encode(['token' => null]);",
    },
    needs=("anon.json-object",),
)
@every_visitor
def null(run: Run, answer: Exchange) -> Finding:
    """If the answer is null, the visitor stays a visitor. The widget treats any other value as a token."""
    calls = run.calls
    member = answer.member
    if holds_bound_token(whole(answer)) and not answer.minted:
        hint = "Remove this token: everyone who opens the page gets it."
        return failed("The answer contains a token although nobody is logged in.", answer, hint=hint)
    if member is None or (member is MISSING and not answer.succeeded):
        return passed()
    if answer.minted:
        who = reading.shown(answer.uid)
        hint = "Check the session for a logged-in user before you sign a token."
        if calls.target.login is not None and calls.first.minted and answer.uid == calls.first.uid:
            return failed(f"A visitor gets the token of {who}.", answer, hint=hint)
        return failed(f"A visitor gets a token for {who}. Guests must get null.", answer)
    return failed(f"`token` is {reading.shown(member)}, not null.", answer)
