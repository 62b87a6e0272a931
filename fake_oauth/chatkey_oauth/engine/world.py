"""What all providers of one running fake share, and what each of them is told about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from secrets import token_bytes
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from chatkey_oauth.engine.signing import make_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.engine.approval import Approval
    from chatkey_oauth.engine.clients import Clients
    from chatkey_oauth.engine.people import People
    from chatkey_oauth.engine.switches import Switches


class World(NamedTuple):
    """What all providers of one running fake share."""

    clock: Callable[[], float]
    clients: Clients
    people: People
    switches: Switches
    approval: Approval
    lifetimes: Mapping[str, int] = MappingProxyType({})
    """How long what `oidc` issues lives, in seconds: `code`, `access`, `refresh`, `id`."""
    random: Callable[[int], bytes] = token_bytes
    make_key: Callable[[], RSAPrivateKey] = make_key


class Addresses(NamedTuple):
    """One provider's base address for browsers and for servers, and the issuer it signs as."""

    browser: str
    server: str
    issuer: str


class Lives(NamedTuple):
    """How long a code, an access token and a refresh token live, in seconds; None: they do not end."""

    code: int
    access: int | None
    refresh: int | None
