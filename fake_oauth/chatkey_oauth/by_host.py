"""Maps host names to providers: `google.localhost`, or a provider's real host name that resolves to the fake."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from chatkey_lab.hosts import host_name
from chatkey_oauth.providers import NAMES, load, real_hosts

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL = ".localhost"


class Called(NamedTuple):
    """A provider, with the host and port for the URLs that the provider gives this client."""

    provider: str
    netloc: str


def called(host: str) -> Called | None:
    """Return the provider that a `Host` header names, or None if the header names no provider.

    All real hosts of a provider are mapped to the first one, which is also the host in the issuer.
    """
    name = host_name(host)
    if name.endswith(LOCAL):
        provider = name.removesuffix(LOCAL)
        return Called(provider, host) if provider in NAMES else None
    known = real_hosts().get(name)
    if known is None:
        return None
    port = urlsplit(f"//{host}").port
    first = load(known).hosts[0]
    return Called(known, first if port is None else f"{first}:{port}")


def every_name() -> Iterator[str]:
    yield from (f"{name}{LOCAL}" for name in NAMES)
    yield from real_hosts()
