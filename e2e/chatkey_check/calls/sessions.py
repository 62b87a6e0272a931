"""Sessions: the headers and cookies of one login. Answers change the cookies as they do in a browser."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Final
from urllib.parse import unquote

from chatkey_check.calls.jar import Cookie, Jar, deletes, parsed, refusal
from chatkey_check.exchange import Exchange, Header, Response

IN_HEADER: Final = re.compile(r"\{(cookie|meta):([^}]+)\}")
ALPHABET: Final = string.ascii_letters + string.digits
CHARACTER: Final = re.compile(r"(%[0-9A-Fa-f]{2})|[^\W_]")
GUESSLESS: Final = 24
SHORTEST_SESSION: Final = 8
"""Shorter values are words, such as a language or a number, and not secrets."""


class Session:
    """One login, or a visitor. Cookies are kept and sent as in a browser.

    `home` is the address of the endpoint. Without it, every cookie is sent everywhere. Cookies that an answer deletes
    are kept unless `obeys` is set (see `learn`).
    """

    def __init__(
        self,
        name: str,
        headers: Iterable[Header] = (),
        cookies: Mapping[str, str] = {},
        *,
        home: str = "",
        learns: bool = True,
        obeys: bool = False,
    ) -> None:
        self.name = name
        self.home = home
        self._learns = learns
        self._obeys = obeys
        self.changes = 0
        """How often an answer replaced an existing cookie."""
        self._turn = RLock()
        given = tuple(headers)
        self._headers = tuple(header for header in given if header[0].lower() != "cookie")
        pairs = dict(cookies)
        for value in (value for header, value in given if header.lower() == "cookie"):
            pairs |= _cookies(value)
        self.jar = Jar(Cookie(name, value) for name, value in pairs.items())
        self._metas: dict[str, str] = {}

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

    def _sent(self, url: str) -> Mapping[str, Cookie]:
        return self.jar.sent_to(url) if url else {cookie.name: cookie for cookie in self.jar.all}

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies that are sent to the endpoint."""
        return {name: cookie.value for name, cookie in self._sent(self.home).items()}

    @property
    def same_site(self) -> dict[str, str]:
        """The SameSite attribute of each cookie that a response has set, or an empty text."""
        return {name: cookie.same_site for name, cookie in self._sent(self.home).items() if cookie.line}

    @property
    def lines(self) -> dict[str, str]:
        """The Set-Cookie lines of the cookies that answers set, for use in a browser."""
        return {cookie.name: cookie.line for cookie in self.jar.all if cookie.line}

    @property
    def headers(self) -> tuple[Header, ...]:
        """The headers of a call of the endpoint with this session, including its cookies."""
        return self.headers_for(self.home)

    def headers_for(self, url: str, *, ours: bool = True) -> tuple[Header, ...]:
        """Return the headers of a call of any address. What was given as an option goes only to the site (`ours`)."""
        sent = (cookie for cookie in self._sent(url).values() if ours or cookie.domain)
        pairs = "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent)
        return (*(self._headers if ours else ()), *((("Cookie", pairs),) if pairs else ()))

    @property
    def values(self) -> list[str]:
        """The cookies that are sent to the endpoint, and the credentials in the headers."""
        return [*self.cookies.values(), *(value.rpartition(" ")[2] for _, value in self._headers)]

    @property
    def secrets(self) -> Iterable[str]:
        """The cookies and credentials that must not be shown. Values that are too short to be secrets are left out."""
        credentials = (value.rpartition(" ")[2] for _, value in self._headers)
        values = (*(cookie.value for cookie in self.jar.all), *credentials)
        yield from (value for value in values if len(value) >= SHORTEST_SESSION)

    def learn(self, response: Response, url: str, *, obeying: bool = False) -> None:
        """Add the cookies that an answer from this address sets, if a browser would store them.

        Deletions are obeyed only if `obeying` or the session's `obeys` is set: a probe may make an endpoint delete the
        cookie while the session itself still exists.
        """
        for line in response.all("set-cookie") if self._learns else ():
            cookie = parsed(line, url)
            if cookie is None:
                continue
            reason = refusal(cookie, url)
            if reason:
                self.jar.refused[cookie.name] = cookie, reason
            elif not deletes(line, response):
                before = self._sent(self.home).get(cookie.name)
                self.jar.store(cookie, self.home)
                self.changes += before is not None and self._sent(self.home)[cookie.name].value != before.value
            elif obeying or self._obeys:
                self.jar.delete(cookie, self.home)

    def bear(self, header: Header) -> None:
        """Send this header from now on."""
        self._headers = (*self._headers, header)

    def settle(self) -> None:
        """Forget that cookies were replaced: a login replaces them once, and later answers may not."""
        self.changes = 0

    def deleted_by(self, response: Response | None, url: str) -> set[str]:
        """Return the names of the session's cookies that the answer deletes and does not set again.

        A cookie of the same name with another path or host is a different cookie, and is left out.
        """
        if response is None:
            return set()
        lines = [(line, cookie) for line in response.all("set-cookie") if (cookie := parsed(line, url))]
        reaching = [(line, cookie.name) for line, cookie in lines if cookie.goes_to(url)]
        gone = {name for line, name in reaching if deletes(line, response)}
        kept = {name for line, name in reaching if not deletes(line, response)}
        return (gone - kept) & set(self.cookies)

    def copy(self) -> Session:
        """Return a session with the same cookies and headers, which changes independently of this one."""
        made = Session(self.name, self._headers, home=self.home, learns=self._learns, obeys=self._obeys)
        made.jar = Jar(self.jar.all)
        return made

    def with_cookies(self, cookies: Mapping[str, str]) -> Session:
        """Return a session with other cookies and the same headers.

        The new session ignores cookies that answers set.
        """
        made = Session(self.name, self._headers, cookies, learns=False, home=self.home)
        made._metas = dict(self._metas)
        return made

    def bearing(self, headers: Iterable[Header]) -> Session:
        """Return a session with these headers and no cookies. The new session ignores cookies that answers set."""
        return Session(self.name, headers, learns=False)

    def garbage(self) -> Session:
        """Return a session whose values have the same form as in this session, but were never issued by the site."""
        headers = tuple((name, _credential(value, random_like)) for name, value in self._headers)
        cookies = {name: random_like(value) for name, value in self.cookies.items()}
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
        return self.replaced(lambda value: signed.sub(lambda found: f"{found[1]}.{random_like(found[2])}", value))

    def replaced(self, change: Callable[[str], str]) -> Session:
        """Return a copy of this session in which `change` was applied to every value."""
        cookies = {name: change(value) for name, value in self.cookies.items()}
        headers = ((name, _credential(value, change)) for name, value in self._headers)
        return Session("a forged session", headers, cookies)

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
    lines = exchange.response.all("set-cookie") if exchange.response else []
    found = (parsed(line, exchange.request.url) for line in lines)
    return {cookie.name for cookie in found if cookie and cookie.name in sent and sent[cookie.name] != cookie.value}


def _cookies(line: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in line.split(";") if "=" in pair)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _credential(value: str, change: Callable[[str], str]) -> str:
    """Change the credential of a header, and keep its scheme, such as Bearer."""
    scheme, space, credential = value.rpartition(" ")
    return f"{scheme}{space}{change(credential)}".rstrip()


def random_like(text: str) -> str:
    """Return a random text of the same form, which is long enough not to be a real session by chance.

    Letters and digits are replaced. Percent-encoded characters stay, because a random one could be a line break, which
    no header may contain.
    """
    return CHARACTER.sub(lambda found: found[1] or secrets.choice(ALPHABET), text.ljust(GUESSLESS, "x"))
