"""auth.body-ignored: naming another person in the body does not make the caller that person."""

from __future__ import annotations

from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.victims import ID_NAMES, MADE_UP_CLAIMS, Victim, believed
from chatkey_check.model import PERSON, Finding, Severity, Verdict
from chatkey_check.run import Run

PLACES = ("user", "currentUser", "profile", "account", "customer", "member", "identity", "data", "payload")
"""Members in which pages send a whole user object."""


@check(
    "auth.body-ignored",
    group=PERSON,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with another person's uid, user_id, email, name, type, pid, exp and claims in the body, and with an "
    "object that contains them, such as user or profile; each logged in and logged out",
    passes="uid and claims do not change, and the logged-out call gets no token of that person",
    hint="Take the user from the session, never from the request. If you trust the request, anyone can take over an "
    "account.",
    mistakes=(
        "the page sends the user's id, and the endpoint trusts it",
        "the whole body is merged into the claims",
    ),
    mend={
        "Python": "user = request.user",
        "Node.js": "const user = request.session.user;",
        "PHP": "$user = $_SESSION['user'];",
    },
    needs=("claim.uid-stable",),
)
def body_ignored(run: Run) -> Finding:
    """Anyone can write a request body. Therefore a request body must not decide who the user is."""
    calls = run.calls

    def ask(session: Session, victim: Victim) -> Exchange:
        named = _named(victim)
        return calls.ask("another person named in the body", session, more={**named, "claims": named})

    def ask_inside(session: Session, victim: Victim) -> Exchange:
        inside = {place: _named(victim) for place in PLACES}
        return calls.ask("another person named in an object in the body", session, more=inside)

    found = believed(calls, "body", ask)
    if found.verdict is not Verdict.PASS or not calls.target.shape.json:
        return found
    return believed(calls, "body", ask_inside)


def _named(victim: Victim) -> dict[str, object]:
    return {**dict.fromkeys(ID_NAMES, victim.uid), "email": victim.email, **MADE_UP_CLAIMS}
