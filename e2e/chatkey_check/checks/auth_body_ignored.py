"""auth.body-ignored: naming another person in the body does not make the caller that person."""

from __future__ import annotations

import re
from typing import Any

from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed
from chatkey_check.judging.victims import ID_NAMES, MADE_UP_CLAIMS, Details, Victim, believed, flat
from chatkey_check.model import PERSON, Finding, Severity, Verdict
from chatkey_check.run import Run

PLACES = ("user", "currentUser", "profile", "account", "customer", "member", "identity", "data", "payload")
"""Members in which pages send a whole user object."""
INSIDE = ("id", "uid", "user_id", "userId", "sub", "username")
DIGITS = re.compile(r"\d+")


@check(
    "auth.body-ignored",
    group=PERSON,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with another person's uid, user_id, email, name, type, pid, exp and claims in the body, and with an "
    "object that contains them, such as user or profile; each logged in and logged out. Bodies are smaller than a "
    "kilobyte; if one is refused, its members are sent in smaller bodies",
    passes="uid and claims do not change, and the logged-out call gets no token of that person; not judged if even "
    "the smallest body is over a limit",
    hint="Take the user from the session, never from the request. Otherwise anyone can take over an account.",
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

    def ask(session: Session, details: Details) -> Exchange:
        return calls.ask("another person named in the body", session, more=_nested(details))

    numbered = [_numbered] if DIGITS.search(str(calls.token.uid)) else []
    for named in (_named, *numbered, *([_inside] if calls.target.shape.json else [])):
        found = believed(calls, "body", named, ask)
        if found.verdict is not Verdict.PASS:
            return found
    return passed()


def _named(victim: Victim) -> Details:
    return [*flat(victim), *(((name,), value) for name, value in MADE_UP_CLAIMS.items())]


def _numbered(victim: Victim) -> Details:
    """Return the number in the id, as a number: the token's uid may have a prefix that the shop's own id lacks."""
    found = DIGITS.search(victim.uid)
    return [((name,), int(found[0]) if found else 0) for name in ID_NAMES]


def _inside(victim: Victim) -> Details:
    """Return the person as an object, in every usual place, and as claims."""
    profile = [("email", victim.email), ("name", MADE_UP_CLAIMS["name"])]
    person = [*((name, victim.uid) for name in INSIDE), *profile]
    claims = [*((name, victim.uid) for name in INSIDE), ("email", victim.email), *MADE_UP_CLAIMS.items()]
    inside = [((place, name), value) for place in PLACES for name, value in person]
    return [*((("claims", name), value) for name, value in claims), *inside]


def _nested(details: Details) -> dict[str, object]:
    """Return the details as JSON members."""
    made: dict[str, Any] = {}
    for (name, *inner), value in details:
        if inner:
            made.setdefault(name, {})[inner[0]] = value
        else:
            made[name] = value
    return made
