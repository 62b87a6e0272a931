"""The JSON structures of the control API and of the Python client."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

import msgspec

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.faults.rules import FaultInfo, Rule
from chatkey_oauth.request_log import Entry, Wanted

T = TypeVar("T")


class Data(msgspec.Struct, Generic[T]):
    """The body of every successful response."""

    data: T


class Time(msgspec.Struct):
    """The fake's time, in seconds since the epoch."""

    now: float


class Advance(msgspec.Struct, forbid_unknown_fields=True):
    """The number of seconds by which to move the clock forward, at most ten years."""

    advance: Annotated[float, msgspec.Meta(ge=0, le=315_360_000)]


class Place(msgspec.Struct):
    """The base addresses of a provider for browsers and servers, and its issuer."""

    browser_url: str
    server_url: str
    issuer: str


class SwitchShown(msgspec.Struct):
    key: str
    on: bool
    default: bool
    summary: str


class Mint(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The tokens to issue without a login.

    Without an `account`, the tokens are for the application itself. Without `scopes`, they have all scopes of the
    provider. `tenant` is the name of an issuer below `oidc`.
    """

    provider: str
    client_id: str
    account: str | None = None
    scopes: list[str] | None = None
    nonce: str | None = None
    tenant: str | None = None


class SwitchSet(msgspec.Struct, forbid_unknown_fields=True):
    on: bool


class AutoApproval(msgspec.Struct, forbid_unknown_fields=True):
    """The account that approves every request automatically. If this is null, the consent page is shown."""

    account: str | None


class Keys(msgspec.Struct):
    """The published keys of a provider as JWKs, newest first, and the `kid` of the current signing key."""

    kid: str
    keys: list[dict[str, str]]


class SessionShown(msgspec.Struct):
    """A browser in which a person is signed in, with the ids of the applications at which the person has logged in."""

    provider: str
    sid: str
    account: str
    auth_time: int
    clients: list[str]


class Overview(msgspec.Struct):
    """The state of the fake. The clients are listed without secrets. People, flows and requests are only counted."""

    now: float
    providers: dict[str, Place]
    clients: list[Client]
    people: int
    flows: int
    requests: int
    auto_approve: str | None
    rules: list[Rule]
    faults: list[FaultInfo]
    switches: list[SwitchShown]


class WantedSoon(Wanted, frozen=True, kw_only=True):
    """A filter for entries, and the number of seconds to wait for the first match."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=30)] = 0


class Requests(msgspec.Struct):
    """Entries of the request log, and the number of the newest entry.

    The next request can use this number as `after`.
    """

    requests: list[Entry]
    last: int
