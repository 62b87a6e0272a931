"""auth.cookie-ignored: naming a person in a cookie does not make the caller that person."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chatkey_check.calls.sessions import Session
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.codings import WRITTEN
from chatkey_check.judging.findings import failed
from chatkey_check.judging.forgeries import forged, unsigned
from chatkey_check.judging.victims import MADE_UP, Details, Victim, believed, flat, judged, refused_twin, victim_of
from chatkey_check.mistakes.sessions import public_key_of
from chatkey_check.model import PERSON, Blocked, Finding, Severity, Verdict
from chatkey_check.run import Run


@check(
    "auth.cookie-ignored",
    group=PERSON,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with another person's id in cookies such as uid and user_id, and in the login's own cookies, where "
    "uid, e-mail and name are replaced in plain text and in every encoding that frameworks use",
    passes="uid does not change, and the logged-out call gets no token of that person",
    hint="Keep the user in a session that your server stores or signs, because anyone can write a cookie.",
    mistakes=(
        "the handler reads the uid from a cookie that is meant for the page's scripts",
        "the session cookie is the user's id, as plain text or base64",
        "the session is signed with the key of an example, such as dev or secret",
    ),
    mend={
        "Python": 'user = users.get(session.get("user_id"))',
        "Node.js": "const user = request.session.user;",
        "PHP": "$user = $_SESSION['user'];",
    },
    needs=("claim.uid-stable",),
)
def cookie_ignored(run: Run) -> Finding:
    """A cookie is text that the browser sends, and anyone who uses the browser can change it."""
    calls = run.calls

    def ask(session: Session, details: Details) -> Exchange:
        named = {path[0]: str(value) for path, value in details}
        return calls.ask("another person named in cookies", session, cookies={**named, **session.cookies})

    if calls.member.cookies:
        twin = refused_twin(calls, ask)
        if twin is not None:
            what = "With one more cookie, which names nobody, the endpoint answers as if nobody were logged in."
            return failed(what, twin, hint="Ignore cookies that you do not know: other scripts of your site set some.")
    found = believed(calls, "cookies", _missing(calls), ask)
    for judge in (_weakly_signed, _exchanged, _written):
        found = judge(calls) or found if found.verdict is Verdict.PASS else found
    if found.verdict is Verdict.FAIL and calls.made_up.minted:
        raise Blocked("anon.garbage-session")  # the endpoint accepts any cookie
    return found


def _missing(calls: Calls) -> Callable[[Victim], Details]:
    """Return the person's details whose names are not among the login's cookies."""
    own = calls.member.cookies
    return lambda victim: [(path, value) for path, value in flat(victim) if path[0] not in own]


def _weakly_signed(calls: Calls) -> Finding | None:
    """Look whether the login's own cookies are signed with a publicly known key."""
    for name, value in calls.member.cookies.items():
        cause = public_key_of(value)
        if cause:
            what = f"The cookie {name} is signed with {cause}, so anyone can write a session of any person."
            return failed(what, calls.first, hint="Set a long random key for your sessions.")
    return None


def _exchanged(calls: Calls) -> Finding | None:
    """Call with the login's own cookies, in which the other person's details replace the person's own."""
    other = calls.of_other if calls.target.login_b else None
    victim = victim_of(other.claims) if other is not None and other.minted else MADE_UP
    theirs = {"uid": victim.uid, "email": victim.email, "name": victim.name}
    own = calls.member.cookies
    asks = [
        partial(calls.ask, "another person in the login's cookies", calls.member, cookies={**own, name: changed})
        for name, value in own.items()
        for changed in forged(value, calls.token.claims, theirs)
    ]
    for answer in calls.ask_each(asks):
        found = judged(calls, "cookies", calls.member, victim, answer)
        if found is not None:
            return found
    return None


def _written(calls: Calls) -> Finding | None:
    """Call with cookies that a stranger could make from the uid alone. Fail if such a cookie is enough to log in."""
    if calls.makes_guests or not calls.member.cookies:
        return None
    person = victim_of(calls.token.claims)
    jwts = (("in a JWT that is not signed", jwt) for jwt in unsigned(person))
    ways = [*((name, write(person.uid)) for name, write in WRITTEN), *jwts]
    asks = (
        partial(
            calls.ask,
            f"the uid {how} in every cookie",
            calls.nobody.with_cookies(dict.fromkeys(calls.member.cookies, value)),
        )
        for how, value in ways
    )
    for (how, _), answer in zip(ways, calls.ask_each(asks), strict=False):
        if answer.minted:
            return failed(f"The session is the user's id, {how}: anyone who knows an id can be that person.", answer)
    return None
