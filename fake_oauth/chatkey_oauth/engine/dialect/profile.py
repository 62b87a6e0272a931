"""Access to the profile: finds the person of an access token, and the person's subject id at this provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chatkey_oauth.engine.advice import advised, forgotten_scope
from chatkey_oauth.engine.dialect.common import Common
from chatkey_oauth.engine.refusals import BearerRefused, Problem

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.engine.people import Person


class ProfileDialect(Common):
    """How clients present access tokens, and how the provider identifies people."""

    query_tokens: ClassVar[bool] = False
    """Whether clients may send the access token in the parameter `access_token`."""
    numeric_subjects: ClassVar[bool] = False
    """Whether subject ids are numbers."""

    def bearer(self, call: Call, *needed: str) -> Issued:
        """Return a person's access token that has at least one of the needed scopes. Raises `BearerRefused`."""
        issued = self.any_bearer(call)
        if not issued.grant.person_id:
            raise BearerRefused(Problem.NOBODY)
        if needed and not set(needed).intersection(issued.grant.scopes):
            raise advised(BearerRefused(Problem.SCOPE, needed[0]), forgotten_scope(needed, issued.grant.scopes))
        return issued

    def any_bearer(self, call: Call) -> Issued:
        """Return the access token of the request, issued for a person or an application. Raises `BearerRefused`."""
        text = self.bearer_text(call)
        if not text:
            raise BearerRefused(Problem.MISSING)
        issued = self.grants.access.get(text)
        if issued is None or (issued.grant.person_id and self.world.people.get(issued.grant.person_id) is None):
            raise BearerRefused(Problem.UNKNOWN)
        if issued.is_revoked:
            raise BearerRefused(Problem.REVOKED)
        if issued.expires_at is not None and issued.expires_at <= self.world.clock():
            raise BearerRefused(Problem.EXPIRED)
        return issued

    def bearer_text(self, call: Call) -> str | None:
        """Return the access token of the request without checking it."""
        scheme, _, credentials = call.headers.get("authorization", "").partition(" ")
        if scheme.lower() in {"bearer", "token"}:
            return credentials.strip()
        return (call.query.get("access_token") or call.form.get("access_token")) if self.query_tokens else None

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Return the response to an invalid access token, in the provider's words."""
        raise NotImplementedError

    def person(self, grant: Grant) -> Person:
        """Return the person who approved. If the lab has removed this person, the token is refused as unknown."""
        person = self.world.people.get(grant.person_id)
        if person is None:
            raise BearerRefused(Problem.UNKNOWN)
        return person if grant.first else person.later

    def subject(self, person: Person, client_id: str) -> str:
        """Return the subject id as text.

        If an id was set for this person at this provider, return that id. Otherwise derive one.
        """
        return person.subjects.get(self.name) or self.derived_subject(person, client_id)

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Derive a subject id in the provider's format."""
        raise NotImplementedError

    def picture(self, person: Person) -> str | None:
        """Return the URL of a person's avatar, or None if the person has no picture. The fake serves the avatar."""
        return self.portrait(person) if person.picture else None

    def portrait(self, person: Person) -> str:
        """Return an avatar URL even for a person without a picture, as providers with default avatars do."""
        return f"{self.addresses.browser}/avatars/{person.id}.svg"
