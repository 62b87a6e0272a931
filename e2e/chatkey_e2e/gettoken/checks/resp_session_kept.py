"""resp.session-kept: whoever asks for a token stays logged in at the shop."""

from __future__ import annotations

from chatkey_e2e.gettoken.judging.check import check
from chatkey_e2e.gettoken.judging.findings import failed, passed
from chatkey_e2e.gettoken.model import ANSWERS, Finding, Severity
from chatkey_e2e.gettoken.run import Run


@check(
    "resp.session-kept",
    group=ANSWERS,
    severity=Severity.MUST,
    section="4.7",
    sent="the honest call again, without the cookies that the answer to the first deletes, if it deletes one",
    passes="no cookie of the login is deleted, or only such as are no login",
    hint="Read the session, and leave it: no Set-Cookie with Max-Age=0, and no logout, in this handler.",
    mistakes=(
        "the endpoint ends the session that it was asked with, as a single sign-on would",
        "a framework starts a new, empty session for calls with JSON",
    ),
    needs=("resp.json-object",),
)
def session_kept(run: Run) -> Finding:
    """The widget calls on every page: your customer would be logged out of your shop by opening it."""
    calls = run.calls
    deleted = calls.member.deleted_by(calls.first.response)
    if not deleted:
        return passed()
    kept = {name: value for name, value in calls.member.cookies.items() if name not in deleted}
    without = calls.member.with_cookies(kept)
    answer = calls.ask("the same, without the cookies that were deleted", without)
    names = ", ".join(sorted(deleted))
    if answer.minted:
        return passed(f"{names} is deleted, and is no login")
    return failed(f"The answer deletes the cookie {names}: your customer is logged out.", calls.first)
