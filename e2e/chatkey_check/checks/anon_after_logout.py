"""anon.after-logout: a session that has logged out gets no token."""

from __future__ import annotations

from chatkey_check.calls.sessions import Session
from chatkey_check.calls.shared import Calls
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import NOBODY, Finding, Phase, Severity, Skipped
from chatkey_check.run import Run


@check(
    "anon.after-logout",
    group=NOBODY,
    severity=Severity.MUST,
    section="3",
    sent="--logout-url as the login (an earlier one where there is a form), then the call with the same cookies",
    passes="no token, and no crash",
    hint="End the session on the server: deleting the cookie leaves it to whoever copied it.",
    mistakes=(
        "logging out deletes the cookie only",
        "the session is a signed cookie, which nobody can call back",
    ),
    mend={
        "Python": "sessions.pop(session_id, None)",
        "Node.js": "request.session.destroy();",
        "PHP": "session_destroy();",
    },
    needs=("anon.null", "req.post-json"),
    phase=Phase.LAST,
)
def after_logout(run: Run) -> Finding:
    """People expect logging out to end the session everywhere."""
    calls = run.calls
    address = calls.target.logout_url
    if address is None:
        raise Skipped("logging out takes its address, and ends the session that was passed", "--logout-url URL")
    session = _session(calls)
    done = calls.fetch("logging out", address, session, form=b"")
    if 400 <= done.status < 500:
        done = calls.fetch("logging out, by GET", address, session)
    if not done.status or done.status >= 400:
        return failed(f"Logging out is answered {done.status or done.broken}.", done, hint="Look at --logout-url.")
    answer = calls.ask("the call with the session that has logged out", session)
    if answer.minted:
        return failed("The session gets a token after it has logged out.", done, answer)
    if answer.fails:
        how = answer.status or answer.broken
        hint = "Look the session up, and take none for nobody: answer null."
        return failed(f"The call crashes with a session that has logged out ({how}).", done, answer, hint=hint)
    return passed()


def _session(calls: Calls) -> Session:
    """Return the session that the check ends: one of its own if possible, or otherwise the login that was given."""
    try:
        own = calls.earlier.session
    except Skipped:
        return calls.member
    alive = calls.ask("a call of the session that is to log out", own).minted
    return own if alive else calls.member
