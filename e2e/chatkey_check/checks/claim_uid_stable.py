"""claim.uid-stable: the same person always has the same uid."""

from __future__ import annotations

import unicodedata

from chatkey_check import reading
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PERSON, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "claim.uid-stable",
    group=PERSON,
    severity=Severity.MUST,
    section="2.4",
    sent="a second call; with --login-url, also a call after another login of the same person",
    passes="the uid is the same",
    hint="Use the id of the account, not of the session or the request.",
    mistakes=("uid is the id of the session, or is generated for each request",),
    mend={
        "Python": 'claims["uid"] = str(user.id)',
        "Node.js": "claims.uid = String(user.id);",
        "PHP": "$claims['uid'] = (string) $user->id;",
    },
    needs=("claim.uid", "claim.jkt-follows"),
)
def uid_stable(run: Run) -> Finding:
    """With a new uid, the member can no longer see earlier conversations."""
    calls, token = run.calls, run.calls.token
    if calls.second.uid != token.uid and _composed(calls.second.uid) == _composed(token.uid):
        hint = "Use the id of the account, or bring the text into one form (NFC) wherever you read it."
        return failed("uid changes between two Unicode forms of the same text.", calls.second, hint=hint)
    if calls.second.uid != token.uid:
        seen = f"{reading.shown(token.uid)}, then {reading.shown(calls.second.uid)}"
        return failed(f"uid changes with every call: {seen}.", calls.second)
    try:
        again = calls.earlier.of_member
    except Skipped:
        return passed("the same in two calls; with --login-url a second login is tested too")
    if not again.minted or again.uid == token.uid:
        return passed("the same in two calls and two logins")
    seen = f"{reading.shown(again.uid)}, then {reading.shown(token.uid)}"
    return failed(f"uid changes with every login: {seen}.", again)


def _composed(uid: object) -> object:
    return unicodedata.normalize("NFC", uid) if isinstance(uid, str) else uid
