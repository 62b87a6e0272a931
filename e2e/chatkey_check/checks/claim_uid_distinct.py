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
    sent="a normal call by the second login; with --login-url, also a call after both logged in at the same browser, "
    "one after the other",
    passes="the uid is the second person's own, also after another person's login",
    hint="Read the user from the session of the current request, not from a constant, a shared variable or a cache.",
    mistakes=(
        "uid is a constant from a first try",
        "the answer is cached by browser or by address",
        "the user is in a variable that all requests share",
        "a token is kept in the session, and the session survives when another person logs in",
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
        elsewhere = run.calls.ask(
            "a normal call by the second login, from another browser (another jkt)", run.calls.other
        )
        if elsewhere.minted:
            what = "The second login gets a token only from another browser: this jkt already had one"
            hint = "Do not refuse a known jkt: two people may log in with the same browser, and each login calls again."
            return failed(f"{what}.", other, elsewhere, hint=hint)
        hint = "The second session may have expired. Log in again, and pass the new session with --login-b."
        return failed(f"The second login got no token ({other.result}).", other, hint=hint)
    if other.uid != uid:
        return _after_each_other(run.calls)
    session = dict(run.calls.member.cookies) == dict(run.calls.other.cookies)
    if session and run.calls.member.cookies:
        hint = "Pass the session of a second person with --login-b."
        return failed("Both logins are the same session.", other, hint=hint)
    return failed(
        f"Both logins have the uid {reading.shown(uid)}. They are the same person, or all people get the same uid.",
        other,
    )


def _after_each_other(calls: Calls) -> Finding:
    """Fail if the second person gets a token of the first person, who was logged in with the same browser before."""
    try:
        earlier = calls.earlier
    except Skipped:
        return passed()
    kept, anew, first = earlier.of_other, earlier.of_other_anew, earlier.of_member.uid
    if kept is None or anew is None or kept.uid != first:
        return passed()
    if anew.uid == first and not earlier.asked:
        return passed()  # the site may refuse a second login while somebody is logged in
    what = f"After a second person logged in at the same browser, the token is still for {reading.shown(first)}"
    hint = "Create a token for each call. If you cache tokens, store each token's uid and compare it."
    return failed(f"{what}.", earlier.of_member, kept, hint=hint)
