"""Names another person in a request, and checks whether the endpoint then issues a token for that person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

from chatkey_check import reading
from chatkey_check.calls.sessions import Session
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import Finding

ID_NAMES: Final = (
    "uid",
    "user_id",
    "userId",
    "user",
    "sub",
    "id",
    "username",
    "login",
    "account",
    "customer_id",
    "customerId",
    "member_id",
    "external_id",
    "userid",
    "account_id",
    "accountId",
    "memberId",
    "customer",
    "member",
    "as",
    "impersonate",
    "_switch_user",
)


class Victim(NamedTuple):
    """The person whom a request names."""

    uid: str
    email: str
    name: str


MADE_UP: Final = Victim("chatkey-check-victim", "victim@chatkey-check.example", "chatkey check")

MADE_UP_CLAIMS: Final[Mapping[str, object]] = {
    "name": "chatkey check",
    "type": "admin",
    "pid": "chatkey-check",
    "avatar": "https://chatkey-check.example/victim.png",
    "exp": 4_102_444_800,
}
"""Claims that do not identify a person, but must not be up to the caller either."""

Ask = Callable[[Session, Victim], Exchange]
"""Makes the call as a session, with a victim named in it."""


def believed(calls: Calls, where: str, ask: Ask) -> Finding:
    """Make a call with the login and a call without it. Both calls name another person.

    Fail if either call gets that person's token. If there is a second login, the calls name the person of that login,
    because an endpoint may accept only people who exist.
    """
    attempts = list(_attempts(calls))
    logged_in = _logged_in(calls)
    answers = calls.ask_each(partial(ask, *attempt) for attempt in attempts)
    for (session, victim), answer in zip(attempts, answers, strict=False):
        if not answer.minted:
            continue
        anyway = session is calls.nobody and calls.anonymous.uid in {answer.uid, *logged_in}
        if answer.uid == victim.uid and not anyway:
            who = "A call without a login" if session is calls.nobody else "A logged-in call"
            return failed(f"{who} got the token of {reading.shown(victim.uid)}, who was named in the {where}.", answer)
        if session is calls.member and answer.uid != calls.token.uid:
            changed = f"uid changed from {reading.shown(calls.token.uid)} to {reading.shown(answer.uid)}"
            return failed(f"{changed} when the {where} named another person.", answer)
        if session is calls.member:
            for claim, named in {"email": victim.email, **MADE_UP_CLAIMS}.items():
                if answer.claims.get(claim) == named != calls.token.claims.get(claim):
                    return failed(f"The claim {claim} was taken from the {where}.", answer)
    return passed()


def _logged_in(calls: Calls) -> set[object]:
    """Return the uids of the logged-in people.

    A visitor who gets a token for one of these people would get the token even without naming anybody.
    """
    answers = [calls.first, *([calls.of_other] if calls.target.login_b else [])]
    return {answer.uid for answer in answers if answer.minted}


def _attempts(calls: Calls) -> Iterable[tuple[Session, Victim]]:
    other = calls.of_other if calls.target.login_b else None
    known = other is not None and other.minted and other.uid != calls.token.uid
    yield calls.member, victim_of(other.claims) if other is not None and known else MADE_UP
    yield calls.nobody, victim_of(calls.token.claims)
    if not known:
        yield calls.nobody, MADE_UP


def victim_of(claims: Mapping[str, object]) -> Victim:
    """Return the person of a token. A missing e-mail address or name is made up."""
    email, name = (claims.get(claim) for claim in ("email", "name"))
    return Victim(
        str(claims.get("uid")),
        email if isinstance(email, str) else MADE_UP.email,
        name if isinstance(name, str) else MADE_UP.name,
    )
