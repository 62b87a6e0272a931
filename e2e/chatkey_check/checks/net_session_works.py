"""net.session-works: the session that was given is logged in."""

from __future__ import annotations

from chatkey_check.calls.logins import LoginError
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PRECONDITIONS, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "net.session-works",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    sent="the login form (--login-url), and GET --whoami, as the login that was passed",
    passes="a call after the form shows that somebody is logged in, and --whoami answers 200",
    hint="The session you passed is not logged in: log in again in a browser, copy the cookie, pass it with --login.",
    mistakes=(
        "the session has ended, or its cookie was copied in part",
        "the login form wants another field, or another password",
        "the session is for another host",
    ),
    needs=("net.resolves", "net.tls", "net.same-origin"),
)
def session_works(run: Run) -> Finding:
    """With an expired session, a working endpoint looks broken."""
    calls = run.calls
    target = calls.target
    try:
        sessions = [calls.member, *([calls.other] if target.login_b else [])]
    except LoginError as error:
        hint = "Look at --login-url and the fields: does a browser log in with the same?"
        return failed(f"Logging in fails: {error}.", error.about, hint=hint)
    if target.whoami is None:
        if target.login and target.login.url:
            return passed("the login form logs in")
        raise Skipped("whether the session is logged in shows elsewhere on your site", "--whoami URL")
    for session in sessions:
        answer = calls.fetch(f"who {session.name} is", target.whoami, session)
        if answer.status != 200:
            how = answer.status or answer.broken
            return failed(f"{target.whoami} answers {how} to {session.name}.", answer)
    return passed(f"{target.whoami} answers 200")
