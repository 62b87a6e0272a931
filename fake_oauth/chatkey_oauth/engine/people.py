"""The people who can sign in: test people with one awkward trait each, and people that a test adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec

Slug = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9_-]{1,64}(?!\n)$")]


class Person(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A person with an account of the same `id` at every provider.

    `subjects` sets the subject id by provider name; other subject ids are derived and never change. `later_email` is
    the address at every login at an application after the first one. `claims` adds or replaces claims at `oidc`; null
    removes a claim.
    """

    id: Slug
    name: str | None = None
    username: str = ""
    email: str | None = None
    email_verified: bool = True
    later_email: str | None = None
    hosted_domain: str | None = None
    picture: bool = True
    note: str = ""
    subjects: dict[str, str] = {}
    claims: dict[str, Any] = {}

    @property
    def login(self) -> str:
        return self.username or self.id

    @property
    def later(self) -> Person:
        """The same person at a second login."""
        return msgspec.structs.replace(self, email=self.later_email) if self.later_email else self

    @property
    def given_name(self) -> str | None:
        """The name without its last word. A name with only one word is returned unchanged."""
        return self.name and (self.name.rpartition(" ")[0] or self.name)

    @property
    def family_name(self) -> str | None:
        """The last word of the name, or None if the name has only one word."""
        return self.name.rpartition(" ")[2] if self.name and " " in self.name else None


SEEDED: Final = (
    Person(id="rhea", name="Rhea Quill", username="rquill", email="rhea@example.com", note="an ordinary account"),
    Person(id="omar", name="Omar Haddad", email="omar@corp.example", hosted_domain="corp.example", note="work account"),
    Person(id="noemail", name="Nia Phone", note="no e-mail address"),
    Person(
        id="unverified", name="Uli Unsure", email="uli@example.org", email_verified=False, note="address unverified"
    ),
    Person(id="relay", name="Pat Private", email="k7xq2m9p4d@privaterelay.appleid.com", note="private relay address"),
    Person(
        id="moved",
        name="Mona Moved",
        email="mona@old.example",
        later_email="mona@new.example",
        note="another e-mail address from the second login on",
    ),
    Person(id="emoji", name="Zoë 🦄 Åström 👩🏽‍🚀", email="zoe@example.com", note="emoji in the name"),
    Person(id="rtl", name="ليلى منصور", email="layla@example.com", note="right-to-left name"),
    Person(id="script", name="<script>alert('name')</script>", email="script@example.com", note="markup as name"),
    Person(
        id="quotes",
        name='Siobhán "Q" O\'Neil & \u2028</style></script>{{7*7}}',
        email="o'neil+tag@example.com",
        note="quotes, markup and a line separator as name",
    ),
    Person(
        id="long",
        name=("Maximiliana von und zu Hohenlohe-" * 10)[:300],
        email="max@example.com",
        note="a name of 300 characters",
    ),
    Person(id="noname", username="noname99", email="noname@example.com", picture=False, note="no name and no picture"),
    Person(
        id="twin",
        name="Rhea Quill",
        username="rquill2",
        email="rhea@example.com",
        note="a different person with rhea's e-mail address",
    ),
    Person(id="nobody", picture=False, note="no name, no picture, no e-mail address"),
)


EVERYBODY: Final = "*"
"""The key of the claims that everybody has."""


class People:
    """Everyone who can sign in, by id, in the order of the consent page.

    `more` are people besides the seeded ones, or instead of those with the same ids. `claims` maps the id of a person,
    or `*` for everybody who is there at the start, to claims at `oidc`. `changes` counts the changes, so that a list of
    people can be cached.
    """

    def __init__(self, claims: Mapping[str, Mapping[str, Any]] | None = None, more: Iterable[Person] = ()) -> None:
        self._claims = claims or {}
        self._more = tuple(more)
        self._people: dict[str, Person] = {}
        self.changes = 0
        self.reset()

    def reset(self) -> None:
        self.changes += 1
        self._people = {person.id: self._claiming(person) for person in (*SEEDED, *self._more)}

    def _claiming(self, person: Person) -> Person:
        claims = {**self._claims.get(EVERYBODY, {}), **self._claims.get(person.id, {}), **person.claims}
        return msgspec.structs.replace(person, claims=claims) if claims else person

    def put(self, person: Person) -> None:
        """Add a person. A person with the same id is replaced."""
        self.changes += 1
        self._people[person.id] = person

    def get(self, person_id: str) -> Person | None:
        return self._people.get(person_id)

    def remove(self, person_id: str) -> bool:
        self.changes += 1
        return self._people.pop(person_id, None) is not None

    def all(self) -> list[Person]:
        return list(self._people.values())

    def find(self, hint: str) -> Person | None:
        """Return the person that a login hint names by id, user name or e-mail address."""
        if not hint:
            return None
        return next((p for p in self._people.values() if hint in (p.id, p.login, p.email)), None)
