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
    """A provider, with the host and port for the URLs that the provider gives this client.

    `real_port` is the port with its colon, or empty, if the header has a real host of the provider.
    """

    provider: str
    netloc: str
    real_port: str | None = None


def called(host: str) -> Called | None:
    """Return the provider that a `Host` header names, or None if the header names no provider.

    All real hosts of a provider are mapped to the first one, which is also the host in the issuer. Endpoints at other
    hosts have these hosts in the documents of the provider.
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
    colon = "" if port is None else f":{port}"
    return Called(known, f"{first}{colon}", colon)


def every_name() -> Iterator[str]:
    yield from (f"{name}{LOCAL}" for name in NAMES)
    yield from real_hosts()
