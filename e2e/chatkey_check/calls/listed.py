"""Lists everything that a run may send, before it starts. It can send nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from chatkey_check.exchange import KEEPS_METHOD, Exchange, Request, origin
from chatkey_check.target import Target
from chatkey_check.wire.http import Wire

OTHER_METHODS: Final = ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
CSRF_COOKIE: Final = "/sanctum/csrf-cookie"
"""Where Laravel's scripts get the cookie XSRF-TOKEN before they log in."""
ONWARD: Final = "GET (after 307 and 308, the same method) the addresses to which answers redirect"


class Unlisted(Exception):
    """A request is not on the list, so it was not sent."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of the list: methods, an address or the words for one, and the purpose."""

    methods: tuple[str, ...]
    where: str
    why: str
    covers: Callable[[Request], bool] = field(compare=False, repr=False)
    """Whether the line allows a request that has one of the methods."""

    def allows(self, request: Request) -> bool:
        return request.method in self.methods and self.covers(request)

    def __str__(self) -> str:
        return f"{', '.join(self.methods)} {self.where}: {self.why}".lstrip()


def listed(target: Target) -> tuple[Listed, ...]:
    """Return everything that a run against this target may send, the most frequent first."""
    return tuple(_listed(target))


def _listed(target: Target) -> Iterator[Listed]:
    others = tuple(method for method in OTHER_METHODS if method != target.shape.method)
    yield _at((target.shape.method,), target.url, "the call of your page, and variations of it, as an attacker's")
    yield _at(others, target.url, "methods that must get no token")
    yield _at(("GET",), f"{target.origin}/", "if nginx answers 503, to tell a limit from a missing backend")
    if target.page_url:
        yield _at(("GET",), target.page_url, "the page with the widget")
        here = origin(target.page_url)
        yield Listed(("GET",), f"{here}/…", "the page's scripts", lambda request: origin(request.url) == here)
    if target.whoami:
        yield _at(("GET",), target.whoami, "whether somebody is logged in")
    if target.logout_url:
        yield _at(("POST", "GET"), target.logout_url, "the logout of the session that a check ends")
    logins = [login for login in (target.login, target.login_b) if login and login.url]
    for login in {login.url: login for login in logins}.values():
        yield _at(("GET",), login.url, "the login page")
    if logins:
        names = {name for login in logins for name, _ in login.fields}
        fields = ", ".join(sorted(names))
        yield Listed(("POST",), "the login form", f"the fields {fields}", lambda one: bool(names & _names(one)))
        where = "a form that a page's script sends to another site"
        yield Listed(("POST",), where, "the way back from a single sign-on", _comes_from_elsewhere)
        where = f"{CSRF_COOKIE} on the site of the form"
        yield Listed(("GET",), where, "Laravel's XSRF-TOKEN", lambda one: urlsplit(one.url).path == CSRF_COOKIE)
    if target.live and target.live.service_url:
        yield _at(("GET",), target.live.service_url, "the chat service, for its clock")
    if target.live and target.live.browser and target.page_url:
        where = f"{target.page_url} in a browser"
        yield Listed((), where, "and what the page's own scripts send there", lambda _: False)


def _at(methods: Sequence[str], url: str, why: str) -> Listed:
    there = _bare(url)
    return Listed(tuple(methods), url, why, lambda request: _bare(request.url) == there)


def _bare(url: str) -> str:
    """Return an address without query and fragment."""
    return url.partition("#")[0].partition("?")[0]


def _names(request: Request) -> set[str]:
    """Return the names of the fields in a form or in a JSON object."""
    text = request.body.decode("utf-8", "replace")
    with suppress(ValueError):
        return set(json.loads(text))
    return {name for name, _ in parse_qsl(text, keep_blank_values=True)}


def _comes_from_elsewhere(request: Request) -> bool:
    """Return whether a form was on a page of another origin than the one to which it is sent."""
    page = next((value for name, value in request.headers if name == "Origin"), None)
    return page is not None and page != origin(request.url)


class ListedWire:
    """Sends the requests of the list, and those to which an answer redirects them. Raises `Unlisted` for others."""

    def __init__(self, wire: Wire, target: Target) -> None:
        self._wire = wire
        self._lines = listed(target)
        self._onward: set[tuple[str, str]] = set()
        """The methods and addresses of redirects so far."""

    def reach(self, url: str) -> str:
        return self._wire.reach(url)

    def shake_hands(self, url: str) -> None:
        self._wire.shake_hands(url)

    def send(self, request: Request) -> Exchange:
        self._check(request)
        return self._noted(self._wire.send(request))

    def send_together(self, requests: Sequence[Request]) -> list[Exchange]:
        for request in requests:
            self._check(request)
        return [self._noted(done) for done in self._wire.send_together(requests)]

    def spread(self) -> None:
        self._wire.spread()

    def close(self) -> None:
        self._wire.close()

    def _check(self, request: Request) -> None:
        if not ((request.method, request.url) in self._onward or any(line.allows(request) for line in self._lines)):
            raise Unlisted(f"{request.method} {_bare(request.url)} ({request.label}) is not on the list of --plan")

    def _noted(self, done: Exchange) -> Exchange:
        if done.redirected:
            self._onward |= {("GET", done.location)}
        if done.status in KEEPS_METHOD:
            self._onward |= {(done.request.method, done.location)}
        return done


def counted(target: Target, sent: Iterable[Request]) -> dict[str, int]:
    """Return how many requests each line of the list allowed. Redirects have a line of their own."""
    lines = listed(target)
    times = dict.fromkeys([*map(str, lines), ONWARD], 0)
    for request in sent:
        times[next((str(line) for line in lines if line.allows(request)), ONWARD)] += 1
    return {line: count for line, count in times.items() if count}
