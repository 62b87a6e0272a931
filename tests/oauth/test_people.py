"""Tests of how each provider presents the awkward people. test_apple.py covers Apple, which has no profile."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.oauth.visitor import Visit, Visitor, content

from chatkey_oauth.engine.people import SEEDED, People, Person
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    pass


NOTHING: Mapping[str, str] = MappingProxyType({})
PEOPLE = {person.id: person for person in SEEDED}


class Shown(NamedTuple):
    """The data of a person that an application receives. `verified` is None if the provider does not report it."""

    name: str | None
    email: str | None
    verified: bool | None


def at_github(visitor: Visitor, token: str) -> Shown:
    rows = [row for row in content(visitor.profile(token, "/user/emails")) if row["primary"]]
    primary = rows[0] if rows else {}
    return Shown(content(visitor.profile(token))["name"], primary.get("email"), primary.get("verified"))


MEMBERS: dict[str, tuple[dict[str, str], str, str, str]] = {
    "facebook": ({"fields": "name,email"}, "name", "email", ""),
    "gitlab": ({}, "name", "email", "confirmed_at"),
    "discord": ({}, "global_name", "email", "verified"),
    "x": ({"user.fields": "confirmed_email"}, "data.name", "data.confirmed_email", ""),
    "tiktok": ({}, "data.user.display_name", "", ""),
    "amazon": ({}, "name", "email", ""),
}
"""The request's parameters, and the paths of name, address and verification in a profile.

Other providers have the claims of OpenID Connect Core 5.1.
"""


WITH_PROFILE = [name for name in NAMES if name != "apple"]
EVERY = pytest.mark.parametrize("name", WITH_PROFILE)
WITH_EMAIL = pytest.mark.parametrize("name", [name for name in WITH_PROFILE if name != "tiktok"])


def login(visitor: Visitor, person: str, **changes: str) -> str:
    """Log in, and return the access token. At X, the scope for the e-mail address is added."""
    scope = {"scope": "tweet.read users.read users.email"} if visitor.name == "x" else NOTHING
    token: str = visitor.access_token(person, **{**scope, **changes})
    return token


def seen(visitor: Visitor, person: str) -> Shown:
    """Log in as a person, and return what the application sees."""
    return shown(visitor, login(visitor, person))


def shown(visitor: Visitor, token: str) -> Shown:
    if visitor.name == "github":
        return at_github(visitor, token)
    asked, *paths = MEMBERS.get(visitor.name, ({}, "name", "email", "email_verified"))

    def member(path: str) -> Any:
        found = content(visitor.profile(token, **asked))
        for step in path.split("."):
            found = found.get(step)
        return found

    name, email, verified = (member(path) if path else None for path in paths)
    return Shown(name, email, verified is not None if visitor.name == "gitlab" else verified)


@EVERY
@pytest.mark.parametrize("person", ["rhea", "emoji", "rtl", "script", "quotes", "long"])
def test_a_name_comes_through_as_it_is(visitor: Visitor, person: str) -> None:
    assert seen(visitor, person).name == PEOPLE[person].name


@EVERY
def test_a_missing_name_is_absent_or_replaced_by_the_user_name(visitor: Visitor, name: str) -> None:
    instead = "noname99" if name in {"gitlab", "tiktok", "x"} else None

    assert seen(visitor, "noname").name == instead


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("discord", {"username": "noname99", "global_name": None, "avatar": None}),
        ("gitlab", {"username": "noname99", "name": "noname99", "avatar_url": None}),
        ("x", {"username": "noname99", "name": "noname99"}),
    ],
)
def test_a_person_without_a_name_and_a_picture_has_a_user_name(visitor: Visitor, members: dict[str, Any]) -> None:
    profile = content(visitor.profile(visitor.access_token("noname")))

    assert members.items() <= profile.get("data", profile).items()


@EVERY
@pytest.mark.parametrize("person", ["noemail", "nobody"])
def test_a_missing_address_is_absent(visitor: Visitor, person: str) -> None:
    shown_person = seen(visitor, person)

    assert shown_person.email is None
    assert not shown_person.verified


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
    visitor: Visitor, email: str | None, *, verified: bool | None
) -> None:
    assert seen(visitor, "unverified") == Shown("Uli Unsure", email, verified)


@pytest.mark.parametrize("name", ["google", "github", "gitlab", "discord"])
def test_a_verified_address_is_marked(visitor: Visitor) -> None:
    assert seen(visitor, "rhea") == Shown("Rhea Quill", "rhea@example.com", verified=True)


@WITH_EMAIL
def test_a_relay_address_is_an_address(visitor: Visitor) -> None:
    assert seen(visitor, "relay").email == "k7xq2m9p4d@privaterelay.appleid.com"


@WITH_EMAIL
def test_an_address_changes_at_the_second_login_and_the_subject_does_not(visitor: Visitor) -> None:
    tokens = [login(visitor, "moved") for _ in range(3)]

    addresses = [shown(visitor, token).email for token in tokens]
    subjects = {visitor.subject(token) for token in tokens}

    assert addresses == ["mona@old.example", "mona@new.example", "mona@new.example"]
    assert len(subjects) == 1


@WITH_EMAIL
def test_two_people_have_the_same_address_and_are_two(visitor: Visitor) -> None:
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
