"""auth.cookie-ignored: naming a person in a cookie does not make the caller that person."""

from __future__ import annotations

from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed
from chatkey_check.judging.forgeries import CODINGS, forged
from chatkey_check.judging.victims import ID_NAMES, Victim, believed
from chatkey_check.model import PERSON, Blocked, Finding, Severity, Verdict
from chatkey_check.run import Run


@check(
    "auth.cookie-ignored",
    group=PERSON,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with another person's id in cookies such as uid and user_id, and in the login's own cookies, where "
    "uid, e-mail and name are replaced as plain text, base64 and hex; each logged in and logged out",
    passes="uid does not change, and the logged-out call gets no token of that person",
    hint="Keep the user in a session that your server stores or signs, because anyone can write a cookie.",
    mistakes=(
        "the handler reads the uid from a cookie that is meant for the page's scripts",
        "the session cookie is the user's id, as plain text or base64",
    ),
    mend={
        "Python": 'user = users[request.session["user_id"]]',
        "Node.js": "const user = request.session.user;",
        "PHP": "$user = $_SESSION['user'];",
    },
    needs=("claim.uid-stable",),
)
def cookie_ignored(run: Run) -> Finding:
    """A cookie is text that the browser sends, and anyone who uses the browser can change it."""
    calls = run.calls

    def ask(session: Session, victim: Victim) -> Exchange:
        theirs = {"uid": victim.uid, "email": victim.email, "name": victim.name}
        own = {name: forged(value, calls.token.claims, theirs) for name, value in session.cookies.items()}
        cookies = {**dict.fromkeys(ID_NAMES, victim.uid), **own}
        return calls.ask("another person named in cookies", session, cookies=cookies)

    found = believed(calls, "cookies", ask)
    if found.verdict is Verdict.PASS:
        found = _written(run) or found
    if found.verdict is Verdict.FAIL and calls.made_up.minted:
        raise Blocked("anon.garbage-session")  # the endpoint accepts any cookie
    return found


def _written(run: Run) -> Finding | None:
    """Call with cookies that a stranger could make from the uid alone. Fail if such a cookie is enough to log in."""
    calls = run.calls
    if calls.anonymous.minted or not calls.member.cookies:
        return None
    uid = str(calls.token.uid)
    for coding in CODINGS:
        made = dict.fromkeys(calls.member.cookies, coding.write(uid))
        answer = calls.ask(f"the uid {coding.name} in every cookie", calls.nobody.with_cookies(made))
        if answer.minted:
            return failed(
                f"The session is the user's id, {coding.name}: anyone who knows an id can be that person.", answer
            )
    return None
