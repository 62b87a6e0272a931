"""What goes over the wire of the control API; the typed client reads the same structs."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

import msgspec

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.faults.rules import FaultInfo, Rule
from chatkey_oauth.request_log import Entry

T = TypeVar("T")


class Data(msgspec.Struct, Generic[T]):
    """Every successful answer."""

    data: T


class Time(msgspec.Struct):
    """The fake's time, in seconds since the epoch."""

    now: float


class Advance(msgspec.Struct, forbid_unknown_fields=True):
    """How far to move the clock forward, in seconds, ten years at most."""

    advance: Annotated[float, msgspec.Meta(ge=0, le=315_360_000)]


class Place(msgspec.Struct):
    """Where a provider is, for browsers and for servers, and the issuer it signs as."""

    browser_url: str
    server_url: str
    issuer: str


class SwitchShown(msgspec.Struct):
    """A behaviour that may be either way, and how it stands."""

    key: str
    on: bool
    default: bool
    summary: str


class SwitchSet(msgspec.Struct, forbid_unknown_fields=True):
    """How a switch shall stand."""

    on: bool


class AutoApproval(msgspec.Struct, forbid_unknown_fields=True):
    """The account that approves every request unasked; none: the consent page asks."""

    account: str | None


class Keys(msgspec.Struct):
    """A provider's published signing keys as JWKs, newest first, and the one it signs with."""

    kid: str
    keys: list[dict[str, str]]


class Overview(msgspec.Struct):
    """Everything there is: applications without their secrets, numbers of people, flows and requests."""

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


class Requests(msgspec.Struct):
    """Entries of the request log, and the number of the newest there is: the next `after`."""

    requests: list[Entry]
    last: int
