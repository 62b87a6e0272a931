"""claim.uid-distinct: two people have two different uids."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.shared import Calls
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PERSON, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "claim.uid-distinct",
    group=PERSON,
    severity=Severity.MUST,
    section="2.4",
    sent="an honest call of the second login; with --login-url, both log in at one browser, one after the other",
    passes="its uid is another one, whoever was logged in before",
    hint="Read the user from the session of this very request: a constant, a shared variable or a cache makes all one.",
    mistakes=(
        "a constant from a first try",
        "the answer is cached by browser or by address",
        "the user is kept in a variable that requests share",
        "a token is kept in the session, which goes on when somebody else logs in",
    ),
    mend={
        "Python": "user = request.user",
        "Node.js": "const user = request.session.user;",
        "PHP": "$user = $_SESSION['user'];",
    },
    needs=("claim.uid",),
)
def uid_distinct(run: Run) -> Finding:
    """Two people who share a uid can read each other's conversations."""
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
        return _after_each_other(run.calls)
    session = dict(run.calls.member.cookies) == dict(run.calls.other.cookies)
    if session and run.calls.member.cookies:
        hint = "Pass the session of a second person with --login-b."
        return failed("Both logins are the same session.", other, hint=hint)
    return failed(f"Both logins have the uid {reading.shown(uid)}: one person twice, or one uid for all.", other)


def _after_each_other(calls: Calls) -> Finding:
    """Fail if the second person gets a token of the first person, who was logged in before at the same browser."""
    try:
        earlier = calls.earlier
    except Skipped:
        return passed()
    kept, anew, first = earlier.of_other, earlier.of_other_anew, earlier.of_member.uid
    if kept is None or anew is None or kept.uid != first:
        return passed()
    if anew.uid == first and not earlier.asked:
        return passed()  # the site may refuse a login while somebody is logged in
    what = f"The second person logs in where the first one was, and still gets a token for {reading.shown(first)}"
    hint = "Make a token for every call, or keep it with the uid that it is for, and compare that, too."
    return failed(f"{what}.", earlier.of_member, kept, hint=hint)
