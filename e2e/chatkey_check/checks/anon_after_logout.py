"""anon.after-logout: a session that has logged out gets no token."""

from __future__ import annotations

from functools import partial

from chatkey_check.calls.logins import csrf
from chatkey_check.calls.requests import FORM_TYPE
from chatkey_check.calls.sessions import Session
from chatkey_check.calls.shared import WORKERS, Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import NOBODY, Finding, Phase, Severity, Skipped
from chatkey_check.run import Run

NEEDS_TOKEN = frozenset({403, 419, 422})
"""Statuses of frameworks for a missing CSRF token."""
ONE_WORKER = "Keep sessions where all workers see them: the logout reached only some workers."


@check(
    "anon.after-logout",
    group=NOBODY,
    severity=Severity.MUST,
    section="3",
    sent="a request to --logout-url with the session (with --login-url: an earlier session of the same person), then "
    "several normal calls with the same cookies",
    passes="no token, and no status of 500 or above",
    hint="End the session on the server. If you only delete the cookie, a copy of the cookie still works.",
    mistakes=(
        "the logout only deletes the cookie",
        "the session is a signed cookie, which the server cannot revoke",
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
    """People expect that logging out ends the session everywhere."""
    calls = run.calls
    address = calls.target.logout_url
    if address is None:
        raise Skipped(
            "the address of the logout is not known; the check ends the session that you pass", "--logout-url URL"
        )
    session = _session(calls)
    copied = session.copy()  # the browser deletes the cookie; a copy of the cookie must not work either
    page = calls.target.page_url
    shown = calls.fetch("the page, for the logout's CSRF token", page, session) if page else None
    done = calls.fetch("the logout", address, session, form=b"", headers=[*FORM_TYPE, *csrf(shown, session)])
    if 400 <= done.status < 500:
        by_get = calls.fetch("the logout, by GET", address, session)
        if done.status in NEEDS_TOKEN and by_get.status >= 400:
            raise Skipped(f"the logout refuses a call without the CSRF token of its form ({done.status})")
        done = by_get
    if not done.status or done.status >= 400:
        raise Skipped(f"{address} did not log out: {done.result}; check --logout-url")
    asks = [partial(calls.ask, "the call after the logout, with the same session", copied)] * WORKERS
    answers = list(calls.ask_each(asks))
    still = alternating(answers, partial(_ended, done), hint=ONE_WORKER)
    if still is not None:
        return still
    answer = next((one for one in answers if one.fails), answers[0])
    if answer.fails:
        hint = "Look the session up. If it does not exist, answer null."
        return failed(f"The call fails with a session that was logged out ({answer.result}).", done, answer, hint=hint)
    return passed()


def _ended(logout: Exchange, answer: Exchange) -> Finding:
    if answer.minted:
        return failed("After the logout, the same session still gets a token.", logout, answer)
    return passed()


def _session(calls: Calls) -> Session:
    """Return the session that the check logs out: if possible a separate login, otherwise the given login."""
    try:
        own = calls.earlier.session
    except Skipped:
        return calls.member
    alive = calls.ask("a call with the session, before its logout", own).minted
    return own if alive else calls.member
