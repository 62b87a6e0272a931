"""Decides what an origin is, and which may be registered (contract 5.7, D-08), without using the server's code."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

_LABEL: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)", re.ASCII)
DEFAULT_PORTS: Final = {"https": "443", "http": "80"}


def registered(domain: str) -> tuple[str, ...] | None:
    """Return the origins of an ASCII domain (a host with an optional port), or None if it must not be registered."""
    host, port = _split(domain)
    if host is None or len(domain) > 255 or not domain.isascii():
        return None
    schemes = ("https", "http") if is_loopback(host) else ("https",)
    shown = {scheme: "" if port in {"", DEFAULT_PORTS[scheme]} else f":{port}" for scheme in schemes}
    return tuple(f"{scheme}://{host}{shown[scheme]}" for scheme in schemes)


def is_loopback(host: str) -> bool:
    """Return whether the host of an origin is this machine (Secure Contexts, 3.1)."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def is_secure(origin: str) -> bool:
    """Return whether a page with this serialised origin can hold a key."""
    scheme, separator, rest = origin.partition("://")
    if not separator or scheme not in DEFAULT_PORTS:
        return False
    host, colon, port = rest.rpartition(":")
    if rest.endswith("]") or not colon:
        host, port = rest, "0"
    plain = re.fullmatch(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]", host, re.ASCII)
    if not plain or not re.fullmatch("[0-9]{1,5}", port, re.ASCII):
        return False
    return scheme == "https" or is_loopback(host)


def _split(domain: str) -> tuple[str | None, str]:
    host, colon, port = domain.lower().rpartition(":")
    if not colon or domain.endswith("]"):
        host, port = domain.lower(), ""
    elif not re.fullmatch("[1-9][0-9]{0,4}", port, re.ASCII) or int(port) > 65535:
        return None, ""
    return _host(host), port


def _host(host: str) -> str | None:
    try:
        if host.startswith("[") and host.endswith("]"):
            return f"[{IPv6Address(host[1:-1]).compressed}]" if re.fullmatch("[0-9a-f:.]+", host[1:-1]) else None
        labels = host.split(".")
        if not all(_LABEL.fullmatch(label) for label in labels):
            return None
        if labels[-1].isdigit() or labels[-1].startswith("0x"):
            return str(IPv4Address(host))
    except ValueError:
        return None
    return host
