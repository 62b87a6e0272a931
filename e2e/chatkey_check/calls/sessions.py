"""Sessions: the headers and cookies of one login. Answers change the cookies as they do in a browser."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Final
from urllib.parse import unquote, urlsplit

from chatkey_check.exchange import Exchange, Header, Response, moment

IN_HEADER: Final = re.compile(r"\{(cookie|meta):([^}]+)\}")
ALPHABET: Final = string.ascii_letters + string.digits
CHARACTER: Final = re.compile(r"(%[0-9A-Fa-f]{2})|[^\W_]")
GUESSLESS: Final = 24
SHORTEST_SESSION: Final = 8
"""Shorter values are words, such as a language or a number, and not secrets."""


class Session:
    """One login. A session keeps the cookies that answers set, even if a later answer deletes them (see `learn`)."""

    def __init__(
        self, name: str, headers: Iterable[Header] = (), cookies: Mapping[str, str] = {}, *, learns: bool = True
    ) -> None:
        self.name = name
        self._learns = learns
        self.changes = 0
        """How often an answer replaced an existing cookie."""
        self._turn = RLock()
        self.same_site: dict[str, str] = {}
        """The SameSite attribute of each cookie that an answer set; empty if the cookie has none."""
        self.lines: dict[str, str] = {}
        """The Set-Cookie lines of those cookies, for use in a browser."""
        given = tuple(headers)
        self._headers = tuple(header for header in given if header[0].lower() != "cookie")
        self.cookies = dict(cookies)
        self._metas: dict[str, str] = {}
        for value in (value for header, value in given if header.lower() == "cookie"):
            self.cookies |= _cookies(value)

    @property
    def rotates(self) -> bool:
        """Whether answers replace the session's cookies. Calls of such a session must be made one after the other."""
        return self.changes > 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """If the session's cookies change, delay other calls of this session until the `with` block ends."""
        if not self.rotates:
            yield
            return
        with self._turn:
            yield

    @property
    def headers(self) -> tuple[Header, ...]:
        """The headers of a call with this session, including its cookies."""
        pairs = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return (*self._headers, *((("Cookie", pairs),) if pairs else ()))

    @property
    def secrets(self) -> Iterable[str]:
        """The cookies and credentials that must not be shown. Values that are too short to be secrets are left out."""
        credentials = (value.rpartition(" ")[2] for _, value in self._headers)
        yield from (value for value in (*self.cookies.values(), *credentials) if len(value) >= SHORTEST_SESSION)

    def learn(self, response: Response, url: str) -> None:
        """Add the cookies that an answer from this address sets.

        Cookies that the answer deletes are kept: a probe may make an endpoint delete the cookie while the session
        itself still exists.
        """
        for line in response.all("set-cookie") if self._learns else ():
            name, value, attributes = _parsed(line)
            if not name or _deletes(value, attributes, response):
                continue
            self.changes += name in self.cookies and self.cookies[name] != value
            self.cookies = {**self.cookies, name: value}  # a new dict: another thread may be reading the old one
            self.same_site = {**self.same_site, name: _attribute(attributes, "samesite")}
            self.lines[name] = line if _attribute(attributes, "path") else f"{line}; Path={_default_path(url)}"

    def deleted_by(self, response: Response | None, url: str) -> set[str]:
        """Return the names of the session's cookies that the answer deletes and does not set again.

        A cookie of the same name with another path or host is a different cookie, and is left out.
        """
        if response is None:
            return set()
        lines = [line for line in map(_parsed, response.all("set-cookie")) if _reaches(line[2], url)]
        gone = {name for name, value, attributes in lines if _deletes(value, attributes, response)}
        kept = {name for name, value, attributes in lines if not _deletes(value, attributes, response)}
        return (gone - kept) & set(self.cookies)

    def with_cookies(self, cookies: Mapping[str, str]) -> Session:
        """Return a session with other cookies and the same headers.

        The new session ignores cookies that answers set.
        """
        return Session(self.name, self._headers, cookies, learns=False)

    def bearing(self, headers: Iterable[Header]) -> Session:
        """Return a session with these headers and no cookies. The new session ignores cookies that answers set."""
        return Session(self.name, headers, learns=False)

    def garbage(self) -> Session:
        """Return a session whose values have the same form as in this session, but were never issued by the site."""
        headers = tuple((name, _credential(value)) for name, value in self._headers)
        cookies = {name: _random(value) for name, value in self.cookies.items()}
        return Session("a made-up session", headers, cookies, learns=False)

    def keeping(self, wanted: Callable[[str], bool]) -> Session:
        """Return a session with only those cookies and headers whose value satisfies `wanted`."""
        cookies = {name: value for name, value in self.cookies.items() if wanted(value)}
        return Session(self.name, (header for header in self._headers if wanted(header[1])), cookies)

    def sent_across_sites(self) -> Session:
        """Return a session with only the cookies that browsers send also from other sites' pages (SameSite=None)."""
        cookies = {name: self.cookies[name] for name, rule in self.same_site.items() if rule == "none"}
        return Session(self.name, cookies=cookies)

    def forged(self, signed: re.Pattern[str]) -> Session:
        """Return this session with every signature replaced. The second group of `signed` is the signature."""
        return self.replaced(lambda value: signed.sub(lambda found: f"{found[1]}.{_random(found[2])}", value))

    def replaced(self, change: Callable[[str], str]) -> Session:
        """Return a copy of this session in which `change` was applied to every value."""
        cookies = {name: change(value) for name, value in self.cookies.items()}
        return Session("a forged session", ((name, change(value)) for name, value in self._headers), cookies)

    def filled(self, value: str) -> str:
        """Return a header's value with placeholders replaced by cookies (decoded as axios does) and meta elements."""
        return IN_HEADER.sub(lambda found: self._held(found[1], found[2]), value)

    def _held(self, kind: str, name: str) -> str:
        return unquote(self.cookies.get(name, "")) if kind == "cookie" else self._metas.get(name, "")

    def read(self, metas: Mapping[str, str]) -> None:
        """Add the values of a page's meta elements. Values of a newer page replace older values."""
        if self._learns:
            self._metas |= metas


def replaced_cookies(exchange: Exchange) -> set[str]:
    """Return the names of the cookies that were sent with a call and that the answer sets to other values."""
    sent = _cookies(next((value for name, value in exchange.request.headers if name == "Cookie"), ""))
    lines = map(_parsed, exchange.response.all("set-cookie") if exchange.response else ())
    return {name for name, value, _ in lines if name in sent and sent[name] != value}


def _cookies(line: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in line.split(";") if "=" in pair)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _parsed(line: str) -> tuple[str, str, list[str]]:
    """Return name, value and attributes of a Set-Cookie line. The name is empty if there is no `=`."""
    pair, *attributes = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    return name if equals else "", value, attributes


def _default_path(url: str) -> str:
    """Return the path of a cookie that has no Path attribute (RFC 6265 5.1.4)."""
    return urlsplit(url).path.rpartition("/")[0] or "/"


def _deletes(value: str, attributes: list[str], response: Response) -> bool:
    return (
        not value.strip('"')
        or _attribute(attributes, "max-age").startswith(("0", "-"))
        or _has_ended(_attribute(attributes, "expires"), response.get("date") or "")
    )


def _has_ended(expires: str, date: str) -> bool:
    """Return whether a cookie had already expired when the answer was sent. The server's clock decides."""
    end, said = moment(expires), moment(date)
    return "1970" in expires or (end is not None and said is not None and end <= said)


def _reaches(attributes: list[str], url: str) -> bool:
    """Return whether a cookie with these attributes is sent to an address (RFC 6265 5.1.3, 5.1.4)."""
    parts = urlsplit(url)
    path, domain = _attribute(attributes, "path"), _attribute(attributes, "domain").removeprefix(".")
    host = (parts.hostname or "").lower()
    below = not path.startswith("/") or f"{parts.path.lower()}/".startswith(f"{path.rstrip('/')}/")
    return below and (not domain or host == domain or host.endswith(f".{domain}"))


def _attribute(attributes: list[str], name: str) -> str:
    pairs = (attribute.partition("=") for attribute in attributes)
    return next((value.strip().lower() for found, _, value in pairs if found.strip().lower() == name), "")


def _credential(value: str) -> str:
    scheme, space, credential = value.rpartition(" ")
    return f"{scheme}{space}{_random(credential)}"


def _random(like: str) -> str:
    """Return a random text of the same form, which is long enough not to be a real session by chance.

    Letters and digits are replaced. Percent-encoded characters stay, because a random one could be a line break, which
    no header may contain.
    """
    return CHARACTER.sub(lambda found: found[1] or secrets.choice(ALPHABET), like.ljust(GUESSLESS, "x"))
