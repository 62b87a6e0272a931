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
    sent="the login form (--login-url) or the session that was passed, then GET --whoami",
    passes="a call after the form shows a logged-in person, and --whoami answers 200",
    hint="The session that you passed is not logged in. Log in again in a browser, and pass the new cookie with "
    "--login.",
    mistakes=(
        "the session has expired, or its cookie was copied incompletely",
        "the login form needs another field, or the password is wrong",
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
        hint = "Check --login-url and the fields: a browser must be able to log in with them."
        return failed(f"The login failed: {error}.", error.about, hint=hint)
    if target.whoami is None:
        if target.login and target.login.url:
            return passed("the login form works")
        raise Skipped("only another address of your site shows whether the session is logged in", "--whoami URL")
    for session in sessions:
        answer = calls.fetch(f"--whoami, as {session.name}", target.whoami, session)
        if answer.status != 200:
            how = answer.result
            return failed(f"{target.whoami} did not answer 200 to {session.name}: {how}.", answer)
    return passed(f"{target.whoami} answers 200")
