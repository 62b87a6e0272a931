"""Converts registered domains to web origins, and compares origins exactly (contract 5.7, D-08)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Final

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused

_DOMAIN: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:/?#@\[\]\\\s]+)(?::(?P<port>[1-9]\d{0,4}))?")
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_ORIGIN: Final = re.compile(r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?", re.ASCII)
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
MAX_DOMAIN_CHARS: Final = 255


def registrable(domain: str) -> tuple[str, ...]:
    """Return the serialised origins for a registered domain, which is a host with an optional port.

    `shop.example` gives `https://shop.example`. A loopback name also gives the `http` origin. International names are
    converted to punycode. Raises `Refused(parameter_invalid)` for anything else, such as a scheme, path, wildcard or
    userinfo.
    """
    found = _DOMAIN.fullmatch(domain)
    if found is None or len(domain) > MAX_DOMAIN_CHARS:
        raise _refused(domain, "a domain is a host with an optional port, such as shop.example or localhost:8801")
    host = _host(domain, found["host"])
    port = int(found["port"]) if found["port"] else None
    if port is not None and port > 65535:
        raise _refused(domain, f"port {port} does not exist")
    schemes = ("https", "http") if is_loopback_host(host) else ("https",)
    return tuple(_serialised(scheme, host, port) for scheme in schemes)


def match(origin: str, registered: Sequence[str]) -> str | None:
    """Return the registered origin that equals `origin`, or None. Never returns the text from the request."""
    return next((literal for literal in registered if literal == origin), None)


def is_secure(origin: str) -> bool:
    """Return whether browsers offer key storage to pages of this origin: https, or http on a loopback name."""
    found = _ORIGIN.fullmatch(origin)
    return found is not None and (found["scheme"] == "https" or is_loopback_host(found["host"]))


def is_loopback_host(host: str) -> bool:
    """Return whether the host of an origin is a loopback name or address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _in_ascii(domain: str, text: str) -> str:
    import idna  # noqa: PLC0415 - few names need it, and every command would wait for its tables

    try:
        return idna.encode(text, uts46=True).decode()
    except idna.IDNAError:
        raise _refused(domain, "this is not a host name") from None


def _host(domain: str, text: str) -> str:
    if text.startswith("["):
        return _ipv6(domain, text)
    if "*" in text:
        raise _refused(domain, "wildcards are not supported; register each host")
    host = text.lower() if text.isascii() else _in_ascii(domain, text)
    labels = host.split(".")
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused(domain, "this is not a host name")
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        return _ipv4(domain, host)
    return host


def _ipv4(domain: str, host: str) -> str:
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise _refused(domain, "write an IPv4 address as four decimal numbers") from None


def _ipv6(domain: str, text: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(text.strip('[]')).compressed}]"
    except ValueError:
        raise _refused(domain, "this is not an IPv6 address") from None


def _serialised(scheme: str, host: str, port: int | None) -> str:
    shown = "" if port is None or port == _DEFAULT_PORTS[scheme] else f":{port}"
    return f"{scheme}://{host}{shown}"


def _refused(domain: str, why: str) -> Refused:
    return Refused(Code.PARAMETER_INVALID, f"Domain {domain[:80]!a} cannot be registered: {why}.", member="domain")
