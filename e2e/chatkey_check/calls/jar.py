"""A cookie jar with a browser's rules: RFC 6265, and the prefixes and limits of RFC 6265bis."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from chatkey_check.exchange import Response, moment
from chatkey_check.target import is_loopback

MAX_AGE: Final = re.compile(r"-?[0-9]{1,18}")
LARGEST: Final = 4096
"""Most characters of a cookie's name and value together (RFC 6265bis 5.6)."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie with its attributes. An empty domain means any host of the site: the cookie was given as an option."""

    name: str
    value: str
    domain: str = ""
    path: str = "/"
    host_only: bool = True
    secure: bool = False
    same_site: str = ""
    line: str = ""
    """The Set-Cookie line with its path, for use in a browser; empty if the cookie was given as an option."""

    def goes_to(self, url: str) -> bool:
        """Return whether browsers send the cookie to an address."""
        return not self.kept_from(url)

    def kept_from(self, url: str) -> str:
        """Return the attribute that keeps browsers from sending the cookie to an address, or an empty text."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if not (host == self.domain or (not self.host_only and host.endswith(f".{self.domain}")) or not self.domain):
            return f"Domain={self.domain}" if not self.host_only else f"the host {self.domain}"
        if not _below(parts.path or "/", self.path):
            return f"Path={self.path}"
        return "Secure" if self.secure and parts.scheme != "https" and not is_loopback(host) else ""


class Jar:
    """The cookies of one browser. `refused` has the reason for each cookie that a browser would not store."""

    def __init__(self, cookies: Iterable[Cookie] = ()) -> None:
        self.all = tuple(cookies)
        self.refused: dict[str, tuple[Cookie, str]] = {}

    def sent_to(self, url: str) -> dict[str, Cookie]:
        """Return the cookies for an address by name. Of two with the same name, the one with the longer path counts."""
        fitting = sorted((cookie for cookie in self.all if cookie.goes_to(url)), key=lambda one: len(one.path))
        return {cookie.name: cookie for cookie in fitting}

    def store(self, cookie: Cookie, home: str) -> None:
        """Add a cookie. Replace one of the same name, domain and path, or a given one that `home` got instead."""
        self.all = (*self._others(cookie, home), cookie)

    def delete(self, cookie: Cookie, home: str) -> None:
        """Delete the cookie that has this cookie's name, domain and path."""
        self.all = tuple(self._others(cookie, home))

    def _others(self, cookie: Cookie, home: str) -> Iterable[Cookie]:
        for one in self.all:
            given = not one.domain and (not home or cookie.goes_to(home))
            same_place = (one.domain, one.path) == (cookie.domain, cookie.path)
            if one.name != cookie.name or not (given or same_place):
                yield one


def parsed(line: str, url: str) -> Cookie | None:
    """Return the cookie of a Set-Cookie line in the answer from `url`, or None if the line has no name."""
    pair, *attributes = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name:
        return None
    host, domain = (urlsplit(url).hostname or "").lower(), attribute(line, "domain").removeprefix(".")
    path = _last(attributes, "path")
    own_path = path if path.startswith("/") else _default_path(url)
    named = {one.partition("=")[0].strip().lower() for one in attributes}
    shown = line if path else f"{line}; Path={own_path}"
    secure = "secure" in named
    return Cookie(name, value, domain or host, own_path, not domain, secure, attribute(line, "samesite"), shown)


def refusal(cookie: Cookie, url: str) -> str:
    """Return why a browser does not store a cookie that the answer from `url` sets, or an empty text."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    trusted = parts.scheme == "https" or is_loopback(host)
    above = "." in cookie.domain and host.endswith(f".{cookie.domain}")
    if not (cookie.host_only or above or host == cookie.domain):
        return f"Domain={cookie.domain} is not the host {host} or a domain above it"
    if cookie.secure and not trusted:
        return "Secure needs https"
    if cookie.name.lower().startswith("__secure-") and not cookie.secure:
        return "a name with __Secure- needs the attribute Secure"
    if cookie.name.lower().startswith("__host-") and not (cookie.secure and cookie.host_only and cookie.path == "/"):
        return "a name with __Host- needs Secure and Path=/, and no Domain"
    if cookie.same_site == "none" and not cookie.secure:
        return "SameSite=None needs Secure"
    if len(cookie.name) + len(cookie.value) > LARGEST:
        return f"it has more than {LARGEST} characters"
    return ""


def deletes(line: str, response: Response) -> bool:
    """Return whether a Set-Cookie line deletes its cookie: it is empty, or has expired by the server's clock."""
    value = line.partition(";")[0].partition("=")[2].strip()
    age = attribute(line, "max-age")  # counts before Expires (RFC 6265 5.3)
    if MAX_AGE.fullmatch(age):
        return not value.strip('"') or int(age) <= 0
    return not value.strip('"') or _has_ended(attribute(line, "expires"), response.get("date") or "")


def attribute(line: str, name: str) -> str:
    """Return the value of an attribute of a Set-Cookie line in lower case, or an empty text."""
    return _last(line.split(";")[1:], name).lower()


def _last(attributes: Iterable[str], name: str) -> str:
    """Return the value of an attribute. If the attribute appears twice, the last one counts."""
    pairs = (one.partition("=") for one in attributes)
    return next(reversed([value.strip() for found, _, value in pairs if found.strip().lower() == name]), "")


def _has_ended(expires: str, date: str) -> bool:
    end, said = moment(expires), moment(date)
    return "1970" in expires or (end is not None and said is not None and end <= said)


def _default_path(url: str) -> str:
    """Return the path of a cookie that has no Path attribute (RFC 6265 5.1.4)."""
    return urlsplit(url).path.rpartition("/")[0] or "/"


def _below(path: str, above: str) -> bool:
    """Return whether a path matches a cookie's path (RFC 6265 5.1.4)."""
    return path == above or path.startswith(above if above.endswith("/") else f"{above}/")
