"""Names another person in a request, and checks whether the endpoint then issues a token for that person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from chatkey_check import reading
from chatkey_check.calls.sessions import Session
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import Finding, Skipped

PEOPLE: Final = ("user", "customer", "account", "member", "client", "person", "profile", "contact")


def _named_by(ending: str) -> Iterator[str]:
    """Yield the words for people with an ending, in snake_case and in camelCase."""
    for person in PEOPLE:
        yield from (f"{person}_{ending}", f"{person}{ending.capitalize()}")


ID_NAMES: Final = (
    *("id", "uid", "userid", "userID", "username", "login", "sub", "external_id", *PEOPLE),
    *(name for ending in ("id", "number", "name") for name in _named_by(ending)),
    *("as", "act_as", "actAs", "login_as", "loginAs"),
    *("impersonate", "impersonate_user", "impersonateUserId", "on_behalf_of", "onBehalfOf", "_switch_user", "sudo"),
)
"""Names under which pages, gateways and tools for support staff name a person."""
EMAIL_NAMES: Final = ("email", "mail", "email_address", "emailAddress", "user_email", "userEmail", "customerEmail")


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

SMALL: Final = 700
"""Most characters of one probe. Limits of a kilobyte are common, and a probe that is too large proves nothing."""

Details = Sequence[tuple[tuple[str, ...], object]]
"""What a call says about a person: the path to each value, and the value."""
Ask = Callable[[Session, Details], Exchange]
"""Makes the call as a session, with these details in it."""


def believed(calls: Calls, where: str, named: Callable[[Victim], Details], ask: Ask) -> Finding:
    """Name another person in calls with the login and in calls without it.

    Fail if any call gets that person's token. If there is a second login, its person is named, because an endpoint
    may accept only people who exist. If a call gets the token of a third person, it is made once more, because a faulty
    worker may have answered it. A call that is answered in another way than the normal call was refused because of one
    of its details, so the details are divided into smaller calls. Raises `Skipped` if even the smallest call is over a
    limit of size or rate.
    """
    attempts = [(session, victim, dict(named(victim))) for session, victim in _attempts(calls)]
    limited: Exchange | None = None
    parts = _small(tuple(named(MADE_UP)))
    while parts:
        tries = [(part, *attempt) for part in parts for attempt in attempts]
        asks = (partial(ask, session, [(path, said[path]) for path, _ in part]) for part, session, _, said in tries)
        parts = []
        for (part, session, victim, said), answer in zip(tries, calls.ask_each(asks), strict=False):
            found = judged(calls, where, session, victim, answer)
            if found is not None and answer.uid not in {victim.uid, calls.token.uid}:
                again = ask(session, [(path, said[path]) for path, _ in part])
                found = judged(calls, where, session, victim, again)
            if found is not None:
                return found
            if answer.limited or not _as_usual(calls, session, answer):
                smaller = _divided(part, answer)
                parts.extend(one for one in smaller if one not in parts)
                limited = answer if answer.limited and not smaller else limited
    if limited is not None:
        raise Skipped(f"a call that names another person in the {where} is over a limit ({limited.result})")
    if refused_twin(calls, ask):
        raise Skipped(f"with anything more in the {where}, the answer is as if nobody were logged in")
    return passed()


TWIN: Final[Details] = ((("x_unknown",), "1"),)
"""Details that name nobody. If a call with them gets no token, the refusal of other details proves nothing."""


def refused_twin(calls: Calls, ask: Ask) -> Exchange | None:
    """Return the call that names nobody, if it is answered as if nobody were logged in and a normal call is not."""
    if calls.member.rotates:
        return None
    twin = ask(calls.member, TWIN)
    is_refused = twin.succeeded and not twin.minted
    return twin if is_refused and calls.ask("a normal call, to compare", calls.member).minted else None


def judged(calls: Calls, where: str, session: Session, victim: Victim, answer: Exchange) -> Finding | None:
    """Return the failure if the call got another token than its session should get, otherwise None."""
    if not answer.minted:
        return None
    anyway = session is calls.nobody and calls.anonymous.uid in {answer.uid, *_logged_in(calls)}
    if answer.uid == victim.uid and not anyway:
        who = "A call without a login" if session is calls.nobody else "A logged-in call"
        return failed(f"{who} got the token of {reading.shown(victim.uid)}, named in the {where}.", answer)
    if session is not calls.member:
        return None
    if answer.uid != calls.token.uid:
        changed = f"uid changed from {reading.shown(calls.token.uid)} to {reading.shown(answer.uid)}"
        return failed(f"{changed} when the {where} named another person.", answer)
    for claim, named in {"email": victim.email, **MADE_UP_CLAIMS}.items():
        if answer.claims.get(claim) == named != calls.token.claims.get(claim):
            return failed(f"The claim {claim} was taken from the {where}.", answer)
    return None


def _as_usual(calls: Calls, session: Session, answer: Exchange) -> bool:
    usual = calls.alone(session)
    return (answer.status, answer.minted) == (usual.status, usual.minted)


def _small(details: Details) -> list[Details]:
    """Divide details into parts of at most `SMALL` characters."""
    parts: list[list[tuple[tuple[str, ...], object]]] = [[]]
    size = 0
    for path, value in details:
        length = len(path[-1]) + len(str(value)) + len('"": "", ')
        if parts[-1] and size + length > SMALL:
            parts.append([])
            size = 0
        parts[-1].append((path, value))
        size += length
    return [tuple(part) for part in parts]


def _divided(part: Details, refused: Exchange) -> list[Details]:
    """Return smaller parts of the details of a call that was refused; none if it cannot be divided further.

    If the call was too large, halve it. Otherwise try each top-level member by itself, because one of them was refused.
    """
    if refused.limited:
        middle = len(part) // 2
        return [part[:middle], part[middle:]] if middle else []
    names = list(dict.fromkeys(path[0] for path, _ in part))
    return [tuple(one for one in part if one[0][0] == name) for name in names] if len(names) > 1 else []


def flat(victim: Victim) -> Details:
    """Return a person's id and e-mail address under all usual names."""
    ids = [((name,), victim.uid) for name in ID_NAMES]
    return [*ids, *(((name,), victim.email) for name in EMAIL_NAMES)]


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
