"""Which provider is meant by the name it is called by: `google.localhost`, or one of the real hosts that leads here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from chatkey_lab.hosts import host_name
from chatkey_oauth.providers import NAMES, load, real_hosts

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL = ".localhost"


class Called(NamedTuple):
    """A provider, and the host and port it is at for who called it so."""

    provider: str
    netloc: str


def called(host: str) -> Called | None:
    """Whom a `Host` header names; None where it names no provider.

    All real hosts of a provider are one, called by the first of them, as which it signs.
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
    """Every name by which a provider can be called."""
    yield from (f"{name}{LOCAL}" for name in NAMES)
    yield from real_hosts()
