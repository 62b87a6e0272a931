"""Names somebody else in a request, and sees whether the endpoint believes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.calls import Calls
from chatkey_e2e.gettoken.exchange import Exchange
from chatkey_e2e.gettoken.findings import failed, passed
from chatkey_e2e.gettoken.model import Finding
from chatkey_e2e.gettoken.sessions import Session

MADE_UP: Final = "chatkey-check-victim"
EMAIL: Final = "victim@chatkey-check.example"
ID_NAMES: Final = ("uid", "user_id", "userId", "user", "sub", "id", "username", "login", "account")

Ask = Callable[[Session, str], Exchange]
"""Makes the call as a session, with a victim's uid in it."""


def believed(calls: Calls, where: str, ask: Ask) -> Finding:
    """Call as the login and as nobody, with somebody else named; fail if either becomes that person.

    The victim is the second login's person where there is one, since an endpoint may know only those it has.
    """
    for session, victim in _attempts(calls):
        answer = ask(session, victim)
        if not answer.minted:
            continue
        anyway = session is calls.nobody and calls.anonymous.uid == answer.uid
        if answer.uid == victim and not anyway:
            who = "Nobody, without any login," if session is calls.nobody else "A login"
            return failed(f"{who} became {reading.shown(victim)} by naming them in the {where}.", answer)
        if session is calls.member and answer.uid != calls.uid:
            changed = f"uid became {reading.shown(answer.uid)} instead of {reading.shown(calls.uid)}"
            return failed(f"{changed} when the {where} named somebody.", answer)
        if session is calls.member and answer.claims.get("email") == EMAIL:
            return failed(f"The claim email is the one that the {where} named.", answer)
    return passed()


def _attempts(calls: Calls) -> Iterable[tuple[Session, str]]:
    victim = MADE_UP
    if calls.target.login_b and calls.of_other.minted and calls.of_other.uid != calls.uid:
        victim = str(calls.of_other.uid)
    yield calls.member, victim
    yield calls.nobody, str(calls.uid)
    if victim == MADE_UP:
        yield calls.nobody, victim
