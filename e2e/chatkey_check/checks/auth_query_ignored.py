"""auth.query-ignored: naming another person in the address does not make the caller that person."""

from __future__ import annotations

from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.victims import Details, believed, flat
from chatkey_check.model import PERSON, Finding, Severity
from chatkey_check.run import Run


@check(
    "auth.query-ignored",
    group=PERSON,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with another person's ?uid=…&user=… in the address, logged in and logged out",
    passes="uid does not change, and the logged-out call gets no token of that person",
    hint="Take the user from the session, never from the address. If you trust the address, anyone can take over an "
    "account.",
    mistakes=("?uid= was added for testing and never removed",),
    mend={
        "Python": "user = request.user",
        "Node.js": "const user = request.session.user;",
        "PHP": "$user = $_SESSION['user'];",
    },
    needs=("claim.uid-stable",),
)
def query_ignored(run: Run) -> Finding:
    """The caller controls the query string. Therefore the query string must not decide who the user is."""

    def ask(session: Session, details: Details) -> Exchange:
        query = [(path[0], str(value)) for path, value in details]
        return run.calls.ask("another person named in the address", session, query=query)

    return believed(run.calls, "address", flat, ask)
