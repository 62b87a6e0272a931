"""Grants, codes and tokens. They are stored in rings, which delete the oldest entry when full."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

RING: Final = 4096
"""The maximum number of stored codes, tokens and consents of one provider. Older entries are treated as unknown."""

V = TypeVar("V")


class Challenge(msgspec.Struct, frozen=True, gc=False):
    """The PKCE challenge in the authorization request (RFC 7636 4.3)."""

    value: str
    method: str


class Consent(msgspec.Struct, gc=False):
    """The scopes that one person has allowed one client so far.

    If the person withdraws the consent, all tokens that the client has received under this consent become invalid.
    """

    allowed: frozenset[str]
    declined: frozenset[str]
    withdrawn: bool = False
    chosen: Mapping[str, str] = {}


class Grant(msgspec.Struct, gc=False):
    """One approval by one person for one client.

    If a grant is revoked, all tokens that were issued for the grant become invalid. `first` says whether this was the
    person's first approval of the client. `flow` is the id of the login, if the lab is on. If `for_itself` is true,
    there is no person: the application asked for a token for itself (RFC 6749 4.4). If a refresh asked for fewer
    scopes, `whole` is the original grant. `sid` is the id of the session, at providers with sessions.
    """

    consent: Consent
    client_id: str
    person_id: str
    scopes: tuple[str, ...]
    redirect_uri: str
    nonce: str | None
    challenge: Challenge | None
    auth_time: int
    refreshable: bool
    first: bool
    revoked: bool = False
    flow: str | None = None
    for_itself: bool = False
    whole: Grant | None = None
    sid: str | None = None

    @property
    def is_revoked(self) -> bool:
        """Whether this grant, its consent or its original grant has been revoked."""
        of_whole = self.whole is not None and self.whole.is_revoked
        return self.revoked or self.consent.withdrawn or of_whole

    def narrowed(self, scopes: tuple[str, ...]) -> Grant:
        whole = self.whole or self
        return whole if set(scopes) == set(whole.scopes) else msgspec.structs.replace(self, scopes=scopes, whole=whole)


class Code(msgspec.Struct, gc=False):
    """An authorization code. Used codes stay stored, so that a second use can be recognised."""

    grant: Grant
    expires_at: float
    used: bool = False


class Issued(msgspec.Struct, gc=False):
    """An access token, and the refresh token that was issued with it.

    If `expires_at` is None, the access token never expires. `refreshed` is true if the tokens were issued for a refresh
    token instead of a code.
    """

    grant: Grant
    access: str
    refresh: str | None
    issued_at: int
    expires_at: int | None
    revoked: bool = False
    refreshed: bool = False

    @property
    def is_revoked(self) -> bool:
        return self.revoked or self.grant.is_revoked


class Ring(Generic[V]):
    """A mapping that keeps only its newest `size` entries."""

    def __init__(self, size: int = RING) -> None:
        self._size = size
        self._entries = OrderedDict[str, V]()  # finds the oldest entry faster than a dict does

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, key: str, value: V) -> None:
        entries = self._entries
        if key in entries:
            del entries[key]
        elif len(entries) >= self._size:
            entries.popitem(last=False)
        entries[key] = value

    def get(self, key: str) -> V | None:
        return self._entries.get(key)

    def pop(self, key: str) -> V | None:
        """Remove a value and return it. Return None if there is no such value."""
        return self._entries.pop(key, None)

    def newest_first(self) -> list[V]:
        return list(reversed(self._entries.values()))

    def clear(self) -> None:
        self._entries.clear()


class Grants:
    def __init__(self) -> None:
        self.codes: Ring[Code] = Ring()
        self.access: Ring[Issued] = Ring()
        self.refresh: Ring[Issued] = Ring()
        self._consents: Ring[Consent] = Ring()

    def issue(self, issued: Issued) -> None:
        """Store a token response, so that it can be found by its access token and its refresh token."""
        self.access.put(issued.access, issued)
        if issued.refresh is not None:
            self.refresh.put(issued.refresh, issued)

    def find(self, token: str) -> Issued | None:
        """Return the stored token response that contains this access token or refresh token."""
        return self.access.get(token) or self.refresh.get(token)

    def consented(self, client_id: str, person_id: str) -> Consent | None:
        """Return the consent that this person has given this client, or None."""
        return self._consents.get(f"{client_id} {person_id}")

    def consent(self, client_id: str, person_id: str, asked: Iterable[str], allowed: Iterable[str]) -> Consent:
        """Record which of the requested scopes this person has allowed this client."""
        key = f"{client_id} {person_id}"
        consent = self._consents.get(key) or Consent(frozenset(), frozenset())
        consent.allowed |= frozenset(allowed)
        consent.declined = (consent.declined | frozenset(asked)) - consent.allowed
        self._consents.put(key, consent)
        return consent

    def withdraw(self, grant: Grant) -> None:
        """Withdraw everything that the person has allowed the client.

        The person's next approval is then a first approval again.
        """
        grant.consent.withdrawn = True
        self.forget(grant.client_id, grant.person_id)

    def forget(self, client_id: str, person_id: str) -> None:
        if consent := self._consents.pop(f"{client_id} {person_id}"):
            consent.withdrawn = True

    def clear(self) -> None:
        for ring in (self.codes, self.access, self.refresh, self._consents):
            ring.clear()
