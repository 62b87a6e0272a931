"""auth.body-ignored: nobody becomes somebody else by saying so in the body."""

from __future__ import annotations

from chatkey_e2e.gettoken.calls.sessions import Session
from chatkey_e2e.gettoken.exchange import Exchange
from chatkey_e2e.gettoken.judging.check import check
from chatkey_e2e.gettoken.judging.victims import ID_NAMES, MADE_UP_CLAIMS, Victim, believed
from chatkey_e2e.gettoken.model import PERSON, Finding, Severity
from chatkey_e2e.gettoken.run import Run


@check(
    "auth.body-ignored",
    group=PERSON,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with uid, user_id, email, name, type, claims of somebody else in the body: as the login, as nobody",
    passes="the uid and every claim stays, and nobody stays nobody",
    hint="Take the user from the session, never from the request: this is account takeover.",
    mistakes=(
        "the page sends who it is, and the endpoint believes it",
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
    """Everybody can write a body."""
    calls = run.calls

    def ask(session: Session, victim: Victim) -> Exchange:
        named = {**dict.fromkeys(ID_NAMES, victim.uid), "email": victim.email, **MADE_UP_CLAIMS}
        return calls.ask("somebody else is named in the body", session, more={**named, "claims": named})

    return believed(calls, "body", ask)
