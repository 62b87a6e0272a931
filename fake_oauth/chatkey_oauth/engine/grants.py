"""What a person allowed, and the codes and tokens that stand for it, in rings that forget the oldest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

RING: Final = 4096
"""How many codes, tokens and consents of one provider are remembered; older ones become unknown."""

V = TypeVar("V")


class Challenge(msgspec.Struct, frozen=True):
    """The PKCE challenge sent with the authorization request (RFC 7636 4.3)."""

    value: str
    method: str


class Consent(msgspec.Struct):
    """What one person allowed one client so far. Withdrawn, it takes the tokens of every approval with it."""

    allowed: frozenset[str]
    declined: frozenset[str]
    withdrawn: bool = False
    chosen: Mapping[str, str] = {}


class Grant(msgspec.Struct):
    """One approval by one person for one client. Revoked, it takes all its tokens with it.

    `first` tells whether it was the first; `flow` is the id of the login it came from, while the lab is on. With
    `for_itself` the application asked for itself, and nobody was asked (RFC 6749 4.4). `whole` is the approval that
    this is a part of, where a refresh asked for fewer scopes.
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

    @property
    def is_revoked(self) -> bool:
        """Tell whether the approval, or the whole that it is a part of, was taken back."""
        of_whole = self.whole is not None and self.whole.is_revoked
        return self.revoked or self.consent.withdrawn or of_whole

    def narrowed(self, scopes: tuple[str, ...]) -> Grant:
        """The same approval with these scopes only."""
        whole = self.whole or self
        return whole if set(scopes) == set(whole.scopes) else msgspec.structs.replace(self, scopes=scopes, whole=whole)


class Code(msgspec.Struct):
    """An authorization code, which stays known after its use so that a second one is told apart."""

    grant: Grant
    expires_at: float
    used: bool = False


class Issued(msgspec.Struct):
    """An access token, and the refresh token that came with it. `expires_at` None: it does not end.

    `refreshed` tells that it came for a refresh token, not for a code.
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
        """Tell whether the token or the whole approval was taken back."""
        return self.revoked or self.grant.is_revoked


class Device(msgspec.Struct):
    """A device that waits for somebody's approval (RFC 8628), which brings the `grant`. `interval` is in seconds."""

    client_id: str
    scopes: tuple[str, ...]
    user_code: str
    expires_at: float
    interval: int
    polled_at: float | None = None
    grant: Grant | None = None
    denied: bool = False


class Ring(Generic[V]):
    """A mapping that holds its newest `size` entries."""

    def __init__(self, size: int = RING) -> None:
        self._size = size
        self._entries = OrderedDict[str, V]()  # of a dict the oldest entry is looked for among those that are gone

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, key: str, value: V) -> None:
        """Remember a value as the newest."""
        self._entries.pop(key, None)
        if len(self._entries) >= self._size:
            self._entries.popitem(last=False)
        self._entries[key] = value

    def get(self, key: str) -> V | None:
        """Find a value that is still remembered."""
        return self._entries.get(key)

    def pop(self, key: str) -> V | None:
        """Forget a value, and return it if it was still remembered."""
        return self._entries.pop(key, None)

    def newest_first(self) -> list[V]:
        """Every value that is still remembered."""
        return list(reversed(self._entries.values()))

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()


class Grants:
    """The codes, tokens and consents of one provider."""

    def __init__(self) -> None:
        self.codes: Ring[Code] = Ring()
        self.access: Ring[Issued] = Ring()
        self.refresh: Ring[Issued] = Ring()
        self.devices: Ring[Device] = Ring()
        self._consents: Ring[Consent] = Ring()

    def issue(self, issued: Issued) -> None:
        """Remember a token response under the tokens it carries."""
        self.access.put(issued.access, issued)
        if issued.refresh is not None:
            self.refresh.put(issued.refresh, issued)

    def find(self, token: str) -> Issued | None:
        """Find what an access or refresh token belongs to."""
        return self.access.get(token) or self.refresh.get(token)

    def consented(self, client_id: str, person_id: str) -> Consent | None:
        """What this person already allowed this client, or None before the first time."""
        return self._consents.get(f"{client_id} {person_id}")

    def consent(self, client_id: str, person_id: str, asked: Iterable[str], allowed: Iterable[str]) -> Consent:
        """Remember what of the scopes asked for this person allowed this client."""
        consent = self.consented(client_id, person_id) or Consent(frozenset(), frozenset())
        consent.allowed |= frozenset(allowed)
        consent.declined = (consent.declined | frozenset(asked)) - consent.allowed
        self._consents.put(f"{client_id} {person_id}", consent)
        return consent

    def waiting(self, signs: str) -> Device | None:
        """The device whose code has these letters and digits, and that nobody approved or refused so far."""
        shown = (one for one in self.devices.newest_first() if one.user_code.replace("-", "") == signs)
        return next((one for one in shown if one.grant is None and not one.denied), None)

    def withdraw(self, grant: Grant) -> None:
        """Take back all that the person of a grant ever allowed its client: the next login is the first again."""
        grant.consent.withdrawn = True
        self.forget(grant.client_id, grant.person_id)

    def forget(self, client_id: str, person_id: str) -> None:
        """Take back all that this person allowed this client, if they did."""
        if consent := self._consents.pop(f"{client_id} {person_id}"):
            consent.withdrawn = True

    def clear(self) -> None:
        """Forget everything."""
        for ring in (self.codes, self.access, self.refresh, self.devices, self._consents):
            ring.clear()
