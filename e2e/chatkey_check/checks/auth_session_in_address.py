"""auth.session-in-address: a session is accepted in a cookie or header, but not in a link."""

from __future__ import annotations

from functools import partial

from chatkey_check.calls.shared import Calls
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import PERSON, Finding, Severity, Skipped
from chatkey_check.run import Run

NAMES = ("sid", "session", "session_id", "sessionid", "access_token")


@check(
    "auth.session-in-address",
    group=PERSON,
    severity=Severity.SHOULD,
    section="4.7",
    sent="the call without cookies, but with the login's cookies in the address: ?sid=…",
    passes="no token",
    hint="Read the session only from its cookie, because addresses end up in logs, in the browser's history and in "
    "links.",
    mistakes=(
        "the framework also accepts the session in the address, for browsers without cookies",
        "?sid= was added for an app and never removed",
    ),
    mend={
        "Python": 'session = sessions.get(request.cookies.get("sid"))',
        "Node.js": "const session = sessions.get(request.cookies.sid);",
        "PHP": "ini_set('session.use_only_cookies', '1');",
    },
    needs=("claim.uid-stable", "anon.null"),
)
def session_in_address(run: Run) -> Finding:
    """Anyone who receives a link with your session in it can act as you.

    Anyone who follows a link with another person's session acts as that person without noticing.
    """
    calls = run.calls
    query = _as_query(calls)
    if not query:
        return passed("the login has no credential that fits into an address")
    answer = calls.ask("the session in the address", calls.nobody, query=query)
    if not answer.minted and answer.status != calls.anonymous.status:  # too long, or refused because of one name
        asks = (partial(calls.ask, "the session in the address", calls.nobody, query=[pair]) for pair in query)
        answers = list(calls.ask_each(asks))
        answer = next((one for one in answers if one.minted), answers[0])
        if all(one.limited for one in answers):
            raise Skipped(f"an address with the session is over a limit ({answer.result})")
    return warned("The endpoint accepts a session in the address.", answer) if answer.minted else passed()


def _as_query(calls: Calls) -> list[tuple[str, str]]:
    """Return the login's cookies, and the longest credential, once under each usual parameter name."""
    session = calls.member
    longest = max(session.secrets, key=len, default="")
    return list({**(dict.fromkeys(NAMES, longest) if longest else {}), **session.cookies}.items())
