"""The state that all providers of one running fake share, and the addresses of each provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from secrets import token_bytes
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from chatkey_oauth.engine.signing import make_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.engine.approval import Approval
    from chatkey_oauth.engine.clients import Clients
    from chatkey_oauth.engine.people import People
    from chatkey_oauth.engine.switches import Switches

PIECE: Final = 4096
"""The number of random bytes that are fetched at once."""


class Random:
    """Random bytes from the operating system.

    They are fetched in large pieces, because a system call for each code and token would take longer.
    """

    def __init__(self) -> None:
        self._fetched = b""
        self._used = 0

    def __call__(self, length: int) -> bytes:
        if self._used + length > len(self._fetched):
            self._fetched, self._used = token_bytes(max(length, PIECE)), 0
        start, self._used = self._used, self._used + length
        return self._fetched[start : self._used]


class Message(msgspec.Struct):
    """A back-channel message to an application. `result` is the status of the response, or why there is none."""

    provider: str
    client_id: str
    uri: str
    sid: str
    at: float
    result: str = "sent"


def keep(message: Message, body: bytes) -> None:
    """Send no message."""


class World(NamedTuple):
    """The state that all providers of one running fake share."""

    clock: Callable[[], float]
    random: Callable[[int], bytes]
    clients: Clients
    people: People
    switches: Switches
    approval: Approval
    lifetimes: Mapping[str, int] = MappingProxyType({})
    """Lifetimes in seconds at `oidc`, by name: `code`, `access`, `refresh`, `id`."""
    make_key: Callable[[], RSAPrivateKey] = make_key
    post: Callable[[Message, bytes], None] = keep


class Addresses(NamedTuple):
    """A provider's base address for browsers, its base address for servers, and its issuer."""

    browser: str
    server: str
    issuer: str


class Lives(NamedTuple):
    """Lifetimes of a code, an access token and a refresh token, in seconds.

    None means that the code or token never expires.
    """

    code: int
    access: int | None
    refresh: int | None
