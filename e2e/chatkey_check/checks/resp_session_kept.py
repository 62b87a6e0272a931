"""resp.session-kept: the call does not end the person's session at the shop."""

from __future__ import annotations

from chatkey_check.calls.sessions import replaced_cookies
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run

CLEARS = {
    "*": "everything that the browser keeps for your site",
    "cookies": "every cookie of your site",
    "storage": "what scripts keep for your site, the widget's token too",
}
"""The Clear-Site-Data types that do harm. Clearing a cache does none."""


@check(
    "resp.session-kept",
    group=ANSWERS,
    severity=Severity.MUST,
    section="4.7",
    sent="the honest call again; and without the cookies that the answer to the first deletes, if it deletes one",
    passes="the next call knows the session; no cookie of the login is deleted, or only such as are no login; and no "
    "Clear-Site-Data takes cookies or storage away",
    hint="Read the session, and leave it: no Set-Cookie that ends or replaces it, and no logout, in this handler.",
    mistakes=(
        "the endpoint ends the session that it was asked with, as a single sign-on would",
        "a framework starts a new, empty session for calls with JSON",
        "Clear-Site-Data is sent with every answer, and not with that to a logout only",
    ),
    needs=("resp.json-object",),
)
def session_kept(run: Run) -> Finding:
    """The widget may call on every page.

    If the call ended the session, opening a page of your shop would log your customer out.
    """
    calls = run.calls
    cleared = _cleared(calls.first)
    if cleared:
        hint = "Send Clear-Site-Data where somebody logs out, and nowhere else."
        return failed(f"Clear-Site-Data takes away {cleared}.", calls.first, hint=hint)
    deleted = calls.member.deleted_by(calls.first.response, calls.first.request.url)
    if deleted:
        return _without(calls, deleted)
    again = calls.unknown_again
    if again is None:
        return passed()
    replaced = ", ".join(sorted(replaced_cookies(calls.first)))
    how = f"The answer replaces the cookie {replaced}" if replaced else "The session is used up by the first call"
    return failed(f"{how}: the calls after it are answered as if nobody were logged in.", calls.first, again)


def _cleared(answer: Exchange) -> str:
    lines = answer.response.all("clear-site-data") if answer.response else []
    named = {part.strip().strip('"').lower() for line in lines for part in line.split(",")}
    return next((what for name, what in CLEARS.items() if name in named), "")


def _without(calls: Calls, deleted: set[str]) -> Finding:
    kept = {name: value for name, value in calls.member.cookies.items() if name not in deleted}
    answer = calls.ask("the same, without the cookies that were deleted", calls.member.with_cookies(kept))
    names = ", ".join(sorted(deleted))
    if answer.minted:
        return passed(f"{names} is deleted, and is no login")
    return failed(f"The answer deletes the cookie {names}: your customer is logged out.", calls.first)
