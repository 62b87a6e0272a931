"""Determines the client for which a limit is counted: an address, or the network that belongs to one client."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litestar.types import Scope


def client_of(scope: Scope, ipv6_prefix: int) -> str:
    """Return the client for which a connection is counted, or "" if the connection has no address."""
    client = scope["client"]
    return counted_as(client[0], ipv6_prefix) if client else ""


@lru_cache(maxsize=4096)
def counted_as(address: str, ipv6_prefix: int) -> str:
    """Return an IPv4 address unchanged, and for an IPv6 address its network with this prefix length.

    A client with an IPv6 address usually owns a whole /64 (RFC 6177). An IPv4-mapped IPv6 address counts as the
    IPv4 address. Any other text, such as a name that a proxy gives its client, is returned unchanged.
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
