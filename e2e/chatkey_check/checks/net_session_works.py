"""net.session-works: the session that was given is logged in."""

from __future__ import annotations

from chatkey_check.calls.logins import CookieError
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PRECONDITIONS, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "net.session-works",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    sent="the login forms (--login-url) or the session that was passed, then GET --whoami",
    passes="browsers send the login's cookie to the endpoint, and --whoami answers 200; not judged if the login fails",
    hint="The session that you passed is not logged in. Log in again in a browser, and pass the new cookie with "
    "--login.",
    mistakes=(
        "the session has expired, or its cookie was copied incompletely",
        "the session is for another host",
        "the login's cookie has a Path, a Domain or a prefix with which browsers do not send it to the endpoint",
    ),
    needs=("net.resolves", "net.tls", "net.same-origin"),
)
def session_works(run: Run) -> Finding:
    """With an expired session, a working endpoint looks broken."""
    calls = run.calls
    target = calls.target
    try:
        sessions = [calls.member, *([calls.other] if target.login_b else [])]
    except CookieError as error:
        hint = "Set the cookie with Path=/, Secure, HttpOnly and SameSite=Lax, and without Domain."
        return failed(f"{error}.", error.about, hint=hint)
    if target.whoami is None:
        if (target.login and target.login.url) or calls.first.minted:
            return passed("the endpoint returns a token to the login")
        raise Skipped("only another address of your site shows whether the session is logged in", "--whoami URL")
    for session in sessions:
        answer = calls.fetch(f"--whoami, as {session.name}", target.whoami, session)
        if answer.status != 200:
            how = answer.result
            return failed(f"{target.whoami} did not answer 200 to {session.name}: {how}.", answer)
    return passed(f"{target.whoami} answers 200")
