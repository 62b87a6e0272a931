"""Checks URIs and addresses on this machine. Accepts only URIs that browsers and `urlsplit` parse in the same way."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from chatkey_lab.hosts import is_loopback

WEB: Final = frozenset({"http", "https"})
URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]++|%[0-9A-Fa-f]{2})++")
"""Matches only the characters of RFC 3986.

Browsers treat a backslash as a slash, and ignore white space. `urlsplit` does neither.
"""
HOST_AND_PORT: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?")


def is_uri(text: str) -> bool:
    """Return whether this is an absolute URI (RFC 3986 3) without a user name or password. Web URIs need a host."""
    if not URI.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return "@" not in parts.netloc and (parts.scheme not in WEB or bool(parts.hostname))


@lru_cache(maxsize=256)
def is_redirect_uri(text: str) -> bool:
    """Return whether this can be a redirect URI: a web or app URI without a fragment (RFC 6749 3.1.2).

    The scheme of an app has a dot, because it is a reversed domain name (RFC 8252 7.1). This excludes `javascript:`.
    """
    scheme = text.partition(":")[0].lower()
    return is_uri(text) and "#" not in text and (scheme in WEB or "." in scheme)


def leads_here(uri: str) -> bool:
    """Return whether a web address is on this machine. All URL parsers must agree on the host."""
    if not is_uri(uri):
        return False
    parts = urlsplit(uri)
    return (
        parts.scheme in WEB and HOST_AND_PORT.fullmatch(parts.netloc) is not None and is_loopback(parts.hostname or "")
    )
