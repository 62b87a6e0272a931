"""Whom a limit is counted for: the client's address, or the network that is one client's."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litestar.types import Scope


def client_of(scope: Scope, ipv6_prefix: int) -> str:
    """Return whom the limits of a connection are counted for; "" for a connection without an address."""
    client = scope["client"]
    return counted_as(client[0], ipv6_prefix) if client else ""


@lru_cache(maxsize=4096)
def counted_as(address: str, ipv6_prefix: int) -> str:
    """Return an IPv4 address as it is, and of an IPv6 address the network of so many bits.

    Whoever has one IPv6 address has all of a /64 (RFC 6177); an IPv4 address in IPv6's clothes is that IPv4 address.
    What is neither, from a proxy that calls its clients otherwise, is left alone.
    """
    if ":" not in address:
        return address
    try:
        ip = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(IPv6Network((int(ip), ipv6_prefix), strict=False))
