"""anon.null: a visitor gets null instead of a token."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.evidence.leaks import whole
from chatkey_check.exchange import MISSING
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import NOBODY, Finding, Severity
from chatkey_check.reading import holds_bound_token
from chatkey_check.run import Run


@check(
    "anon.null",
    group=NOBODY,
    severity=Severity.MUST,
    section="4.7",
    sent='the call of a visitor: POST {"jkt": …} without cookies',
    passes="`token` is there, and null; with a status of 4xx it may be missing; no token elsewhere in the answer",
    hint='Return {"token": null}: not "", "null", false, {} or a guest\'s token.',
    mistakes=(
        "an empty text, or the text null",
        "a token for a guest",
        "the first user of the table, where the look-up finds none",
    ),
    mend={
        "Python": 'return {"token": None}',
        "Node.js": "response.json({ token: null });",
        "PHP": "echo json_encode(['token' => null]);",
    },
    needs=("anon.json-object",),
)
def null(run: Run) -> Finding:
    """With null, the visitor stays a visitor. The widget takes anything else for a token."""
    calls = run.calls
    answer = calls.anonymous
    member = answer.member
    if holds_bound_token(whole(answer)) and not answer.minted:
        hint = "Take it out: whoever opens the page gets a token that was made for somebody."
        return failed("Nobody is logged in, and a token stands in the answer all the same.", answer, hint=hint)
    if member is None or (member is MISSING and not answer.succeeded):
        return passed()
    if answer.minted:
        who = reading.shown(answer.uid)
        hint = "Ask the session whether somebody is logged in, before you sign anything."
        if calls.target.login is not None and calls.first.minted and answer.uid == calls.first.uid:
            return failed(f"Nobody is logged in, and gets the token of {who}.", answer, hint=hint)
        return failed(f"Nobody is logged in, and gets a token for {who}: a guest is a visitor.", answer)
    return failed(f"`token` is {reading.shown(member)}, not null.", answer)
