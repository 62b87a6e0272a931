"""resp.session-kept: the call does not end the person's session at the shop."""

from __future__ import annotations

from functools import partial

from chatkey_check.calls.sessions import replaced_cookies
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run

CLEARS = {
    "*": "everything that the browser stores for your site",
    "cookies": "all cookies of your site",
    "storage": "the storage of your site, with the widget's token",
}
"""The Clear-Site-Data types that do harm. Clearing a cache does none."""


@check(
    "resp.session-kept",
    group=ANSWERS,
    severity=Severity.MUST,
    section="4.7",
    sent="a second normal call; if the first answer deletes cookies, also a call without these cookies",
    passes="the session still works in the second call; the login's cookies are not deleted; and Clear-Site-Data does "
    "not delete cookies or storage",
    hint="In this handler, read the session but do not change it. Do not log the person out, and do not delete or "
    "replace the session's cookie.",
    mistakes=(
        "the endpoint ends the session that it was called with, like a single sign-on",
        "the framework starts a new, empty session for JSON requests",
        "Clear-Site-Data is sent with every answer, not only with the logout's",
    ),
    needs=("resp.json-object",),
)
def session_kept(run: Run) -> Finding:
    """The widget may call your endpoint on every page.

    If the call ended the session, every page of your shop would log your customer out.
    """
    calls = run.calls
    found = alternating(calls.answers_to(calls.member), partial(_judged, calls, {}))
    if found is not None:
        return found
    again = calls.unknown_again
    if again is None:
        return passed()
    replaced = ", ".join(sorted(replaced_cookies(calls.first)))
    how = f"The answer replaces the cookie {replaced}" if replaced else "The session ends with the first call"
    return failed(f"{how}. The next call is answered as if nobody were logged in.", calls.first, again)


def _cleared(answer: Exchange) -> str:
    lines = answer.response.all("clear-site-data") if answer.response else []
    named = {part.strip().strip('"').lower() for line in lines for part in line.split(",")}
    return next((what for name, what in CLEARS.items() if name in named), "")


def _judged(calls: Calls, known: dict[frozenset[str], Finding], answer: Exchange) -> Finding:
    """Judge the cookies and the storage that an answer deletes. `known` has the findings about the same cookies."""
    cleared = _cleared(answer)
    if cleared:
        hint = "Send Clear-Site-Data only with the answer to a logout."
        return failed(f"Clear-Site-Data deletes {cleared}.", answer, hint=hint)
    deleted = frozenset(calls.member.deleted_by(answer.response, answer.request.url))
    if not deleted:
        return passed()
    if deleted not in known:
        known[deleted] = _without(calls, deleted, answer)
    return known[deleted]


def _without(calls: Calls, deleted: frozenset[str], by: Exchange) -> Finding:
    kept = {name: value for name, value in calls.member.cookies.items() if name not in deleted}
    answer = calls.ask("the call without the deleted cookies", calls.member.with_cookies(kept))
    names = ", ".join(sorted(deleted))
    if answer.minted:
        return passed(f"{names} is deleted, but the login works without it")
    return failed(f"The answer deletes the cookie {names}, so your customer is logged out.", by)
