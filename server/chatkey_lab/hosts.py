"""Recognises host names and addresses that refer to this machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Return whether a host name or address refers to this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """Return the name from a `Host` header, without port and brackets. Empty if the name or the port is invalid."""
    if any(letter in host for letter in "@/\\?#") or not host.isprintable() or " " in host:
        return ""
    try:
        parts = urlsplit(f"//{host}")
        is_valid = parts.port is None or parts.port > 0
    except ValueError:  # a port above 65535, or brackets that do not match
        return ""
    return parts.hostname or "" if is_valid else ""
