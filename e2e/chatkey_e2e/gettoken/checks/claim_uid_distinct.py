"""claim.uid-distinct: two persons have two uids."""

from __future__ import annotations

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.judging.check import check
from chatkey_e2e.gettoken.judging.findings import failed, passed
from chatkey_e2e.gettoken.model import PERSON, Finding, Severity
from chatkey_e2e.gettoken.run import Run


@check(
    "claim.uid-distinct",
    group=PERSON,
    severity=Severity.MUST,
    section="2.4",
    sent="an honest call of the second login",
    passes="its uid is another one",
    hint="Read the user from the session of this very request: a constant, a shared variable or a cache makes all one.",
    mistakes=(
        "a constant from a first try",
        "the answer is cached by browser or by address",
        "the user is kept in a variable that requests share",
    ),
    mend={
        "Python": "user = request.user",
        "Node.js": "const user = request.session.user;",
        "PHP": "$user = $_SESSION['user'];",
    },
    needs=("claim.uid",),
)
def uid_distinct(run: Run) -> Finding:
    """Whoever shares a uid reads the other's conversations."""
    other, uid = run.calls.of_other, run.calls.token.uid
    if not other.minted:
        elsewhere = run.calls.ask("the same, from another browser (another jkt)", run.calls.other)
        if elsewhere.minted:
            what = "The second login gets a token from another browser only: this jkt had one before"
            hint = "Two people may log in at one browser, and each calls again: do not remember the jkt."
            return failed(f"{what}.", other, elsewhere, hint=hint)
        hint = "Is the second login still good? Log in again, and pass it with --login-b."
        return failed(f"The second login got no token (status {other.status or other.broken}).", other, hint=hint)
    if other.uid != uid:
        return passed()
    session = dict(run.calls.member.cookies) == dict(run.calls.other.cookies)
    if session and run.calls.member.cookies:
        hint = "Pass the session of a second person with --login-b."
        return failed("Both logins are the same session.", other, hint=hint)
    return failed(f"Both logins have the uid {reading.shown(uid)}: one person twice, or one uid for all.", other)
