"""Which texts are addresses, and which of them stay on this machine, to a browser as well as to us."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from chatkey_lab.hosts import is_loopback

WEB: Final = frozenset({"http", "https"})
URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]++|%[0-9A-Fa-f]{2})++")
"""Nothing but the characters of RFC 3986: browsers take a backslash for a slash and leave out white space, `urlsplit`
does not."""
HOST_AND_PORT: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?")


def is_uri(text: str) -> bool:
    """Tell whether this is a whole URI (RFC 3986 3), without user name or password; one of the web has a host."""
    if not URI.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return "@" not in parts.netloc and (parts.scheme not in WEB or bool(parts.hostname))


def is_redirect_uri(text: str) -> bool:
    """Tell whether a person can be sent back here: a URI without fragment (RFC 6749 3.1.2), of the web or of an app.

    The scheme of an app has a dot, because it is a domain name reversed (RFC 8252 7.1); `javascript:` has none.
    """
    scheme = text.partition(":")[0].lower()
    return is_uri(text) and "#" not in text and (scheme in WEB or "." in scheme)


def leads_here(uri: str) -> bool:
    """Tell whether a web address is one of this machine, with a host that nobody can read in two ways."""
    if not is_uri(uri):
        return False
    parts = urlsplit(uri)
    return (
        parts.scheme in WEB and HOST_AND_PORT.fullmatch(parts.netloc) is not None and is_loopback(parts.hostname or "")
    )
