"""Tests of how each provider presents the awkward people. test_apple.py covers Apple, which has no profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from chatkey_oauth.engine.people import SEEDED, People, Person
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from tests.oauth.visitor import Visitor

    from chatkey_oauth.engine.http import Answer

    Visit = Callable[[str], Visitor]

NOTHING: Mapping[str, str] = MappingProxyType({})
PEOPLE = {person.id: person for person in SEEDED}


class Shown(NamedTuple):
    """The data of a person that an application receives. `verified` is None if the provider does not report it."""

    name: str | None
    email: str | None
    verified: bool | None


def members(answer: Answer) -> Any:
    assert answer.status == 200, answer
    return msgspec.json.decode(answer.body)


def at_others(visitor: Visitor, token: str) -> Shown:
    """Read the claims of OpenID Connect Core 5.1, as in Google's userinfo. Missing values are omitted."""
    claims = members(visitor.profile(token))
    return Shown(claims.get("name"), claims.get("email"), claims.get("email_verified"))


def at_facebook(visitor: Visitor, token: str) -> Shown:
    profile = members(visitor.profile(token, fields="name,email"))
    return Shown(profile.get("name"), profile.get("email"), None)


def at_github(visitor: Visitor, token: str) -> Shown:
    rows = [row for row in members(visitor.profile(token, "/user/emails")) if row["primary"]]
    primary = rows[0] if rows else {}
    return Shown(members(visitor.profile(token))["name"], primary.get("email"), primary.get("verified"))


def at_gitlab(visitor: Visitor, token: str) -> Shown:
    user = members(visitor.profile(token))
    return Shown(user["name"], user["email"], user["confirmed_at"] is not None)


def at_discord(visitor: Visitor, token: str) -> Shown:
    user = members(visitor.profile(token))
    return Shown(user["global_name"], user["email"], user["verified"])


def at_x(visitor: Visitor, token: str) -> Shown:
    """Read the user. X includes only confirmed addresses."""
    user = members(visitor.profile(token, **{"user.fields": "confirmed_email"}))["data"]
    return Shown(user["name"], user.get("confirmed_email"), None)


def at_tiktok(visitor: Visitor, token: str) -> Shown:
    """Read the display name. TikTok never returns an e-mail address."""
    return Shown(members(visitor.profile(token))["data"]["user"]["display_name"], None, None)


def at_amazon(visitor: Visitor, token: str) -> Shown:
    profile = members(visitor.profile(token))
    return Shown(profile.get("name"), profile.get("email"), None)


SHOWN = {
    "facebook": at_facebook,
    "github": at_github,
    "gitlab": at_gitlab,
    "discord": at_discord,
    "x": at_x,
    "tiktok": at_tiktok,
    "amazon": at_amazon,
}
WITH_PROFILE = [name for name in NAMES if name != "apple"]
EVERY = pytest.mark.parametrize("name", WITH_PROFILE)
WITH_EMAIL = pytest.mark.parametrize("name", [name for name in WITH_PROFILE if name != "tiktok"])


def login(visitor: Visitor, person: str, **changes: str) -> str:
    """Log in, and return the access token. At X, the scope for the e-mail address is added."""
    scope = {"scope": "tweet.read users.read users.email"} if visitor.name == "x" else NOTHING
    token: str = visitor.login(person, **{**scope, **changes})["access_token"]
    return token


def seen(visitor: Visitor, person: str) -> Shown:
    """Log in as a person, and return what the application sees."""
    return shown(visitor, login(visitor, person))


def shown(visitor: Visitor, token: str) -> Shown:
    return SHOWN.get(visitor.name, at_others)(visitor, token)


@EVERY
@pytest.mark.parametrize("person", ["rhea", "emoji", "rtl", "script", "quotes", "long"])
def test_a_name_comes_through_as_it_is(visit: Visit, name: str, person: str) -> None:
    assert seen(visit(name), person).name == PEOPLE[person].name


@EVERY
def test_a_missing_name_is_absent_or_replaced_by_the_user_name(visit: Visit, name: str) -> None:
    instead = "noname99" if name in {"gitlab", "tiktok", "x"} else None

    assert seen(visit(name), "noname").name == instead


@EVERY
@pytest.mark.parametrize("person", ["noemail", "nobody"])
def test_a_missing_address_is_absent(visit: Visit, name: str, person: str) -> None:
    assert seen(visit(name), person).email is None


@pytest.mark.parametrize(
    ("name", "email", "verified"),
    [
        ("google", "uli@example.org", False),
        ("facebook", None, None),
        ("github", "uli@example.org", False),
        ("gitlab", "uli@example.org", False),
        ("discord", "uli@example.org", False),
        ("x", None, None),
        ("tiktok", None, None),
        ("amazon", "uli@example.org", None),
    ],
)
def test_an_unverified_address_is_marked_left_out_or_given_without_a_mark(
    visit: Visit, name: str, email: str | None, *, verified: bool | None
) -> None:
    assert seen(visit(name), "unverified") == Shown("Uli Unsure", email, verified)


@pytest.mark.parametrize("name", ["google", "github", "gitlab", "discord"])
def test_a_verified_address_is_marked(visit: Visit, name: str) -> None:
    assert seen(visit(name), "rhea") == Shown("Rhea Quill", "rhea@example.com", verified=True)


@WITH_EMAIL
def test_a_relay_address_is_an_address(visit: Visit, name: str) -> None:
    assert seen(visit(name), "relay").email == "k7xq2m9p4d@privaterelay.appleid.com"


@WITH_EMAIL
def test_an_address_changes_at_the_second_login_and_the_subject_does_not(visit: Visit, name: str) -> None:
    visitor = visit(name)
    tokens = [login(visitor, "moved") for _ in range(3)]

    addresses = [shown(visitor, token).email for token in tokens]
    subjects = {visitor.subject(token) for token in tokens}

    assert addresses == ["mona@old.example", "mona@new.example", "mona@new.example"]
    assert len(subjects) == 1


@WITH_EMAIL
def test_two_people_have_the_same_address_and_are_two(visit: Visit, name: str) -> None:
    visitor = visit(name)
    tokens = [login(visitor, person) for person in ("rhea", "twin")]

    addresses = {shown(visitor, token).email for token in tokens}

    assert addresses == {"rhea@example.com"}
    assert len({visitor.subject(token) for token in tokens}) == 2


def test_the_same_address_at_two_providers_may_be_two_people(visit: Visit) -> None:
    here, there = seen(visit("google"), "rhea"), seen(visit("github"), "twin")

    assert (here.email, here.verified) == (there.email, there.verified) == ("rhea@example.com", True)


@pytest.mark.parametrize("person", SEEDED, ids=lambda person: person.id)
def test_everyone_is_described_in_one_line(person: Person) -> None:
    assert 5 < len(person.note) < 80
    assert person.note.isprintable()


def test_people_are_found_by_id_user_name_or_address() -> None:
    people = People()

    found = [people.find(hint) for hint in ("rhea", "rquill", "omar@corp.example", "nobody@nowhere.example", "")]

    assert [person and person.id for person in found] == ["rhea", "rhea", "omar", None, None]
