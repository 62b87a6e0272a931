"""A dry run of the calls. Nothing is sent, and each request gets the answer of a correct endpoint."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import urlsplit

from chatkey_check import reading
from chatkey_check.exchange import Exchange, Header, Request, Response
from chatkey_check.shape import Shape
from chatkey_check.target import Login, Target

COOKIE: Final = "planned"
JSON_HEADERS: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
LARGEST_BODY: Final = 10_000
PEOPLE: Final = {"a": "person-1", "b": "person-2"}
STANDS_IN: Final = "for the plan only"


class PlanClock:
    """A clock that only advances when `sleep` is called."""

    def __init__(self) -> None:
        self._now = time.time()

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


class PlanWire:
    """Records requests and answers them successfully, to find out what a run without failures sends."""

    def __init__(self, target: Target, *, now: Callable[[], float]) -> None:
        self._target = target
        self._now = now
        self.sent: list[Request] = []
        self._open = {"a", "b"}
        """The sessions that are logged in: those given as headers, and those that the login form has started since."""

    def reach(self, url: str) -> str:
        return urlsplit(url).hostname or ""

    def shake_hands(self, url: str) -> None: ...

    def send(self, request: Request) -> Exchange:
        self.sent.append(request)
        return Exchange(request, self._answer(request), None, self._now(), 0.0)

    def send_together(self, requests: Sequence[Request]) -> list[Exchange]:
        return [self.send(request) for request in requests]

    def spread(self) -> None: ...

    def close(self) -> None: ...

    def _answer(self, request: Request) -> Response:
        target = self._target
        if request.url == target.logout_url:
            self._open.discard(self._session(request))
        for person, login in self._logins():
            if login.url == request.url and request.method == "GET":
                inputs = "".join(f'<input name="{html.escape(name)}">' for name, _ in login.fields)
                return Response(200, (("Content-Type", "text/html"),), f"<form>{inputs}</form>".encode())
            if login.url == request.url and request.method == "POST" and _filled(request, login):
                session = f"{person}{len(self.sent)}"
                self._open.add(session)
                return Response(303, (("Location", "/"), ("Set-Cookie", f"{COOKIE}={session}; SameSite=Lax")), b"")
        if request.url == target.whoami:
            return Response(200 if self._person(request) else 401, JSON_HEADERS, b"{}")
        if request.url.partition("?")[0] != target.url.partition("?")[0]:
            return Response(200, (("Content-Type", "text/html"),), b"")
        return self._token(request)

    def _token(self, request: Request) -> Response:
        shape = self._target.shape
        jkt = _jkt(request, shape)
        typed = _header(request, "content-type") == shape.content_type or not request.body
        if request.method != shape.method or not typed or jkt is None or len(request.body) > LARGEST_BODY:
            return Response(400, JSON_HEADERS, b'{"error": "bad request"}')
        person = self._person(request)
        token = self._signed(person, jkt) if person else None
        return Response(200, JSON_HEADERS, _placed(token, shape.token_at))

    def _person(self, request: Request) -> str | None:
        session = self._session(request)
        return PEOPLE[session[0]] if session in self._open else None

    def _session(self, request: Request) -> str:
        """Return the name of a request's session: `a` or `b`, followed by a number after a login by form.

        If the request has no session, return an empty text.
        """
        cookie = SimpleCookie(_header(request, "cookie")).get(COOKIE)
        if cookie is not None:
            return cookie.value
        sent = set(_parts(request.headers))
        heads = ((person, set(_parts(login.headers))) for person, login in self._logins() if login.headers)
        return next((person for person, parts in heads if parts <= sent), "")

    def _logins(self) -> Iterator[tuple[str, Login]]:
        yield from ((name, login) for name, login in (("a", self._target.login), ("b", self._target.login_b)) if login)

    def _signed(self, uid: str, jkt: str) -> str:
        now = int(self._now())
        claims = {"pid": self._target.provider_id or STANDS_IN, "uid": uid, "type": "user", "cnf": {"jkt": jkt}}
        parts = ({"alg": "HS256", "typ": "JWT"}, {**claims, "iat": now, "exp": now + 3600})
        signed = ".".join(reading.encoded(json.dumps(part).encode()) for part in parts)
        key = (self._target.secret or STANDS_IN).encode()
        return f"{signed}.{reading.encoded(reading.hs256(key, signed.encode()))}"


def _parts(headers: Iterable[Header]) -> Iterator[Header]:
    """Yield the headers, with one header for each cookie."""
    for name, value in headers:
        yield from ((name, part.strip()) for part in (value.split(";") if name.lower() == "cookie" else [value]))


def _header(request: Request, name: str) -> str:
    return next((value for found, value in request.headers if found.lower() == name), "")


def _jkt(request: Request, shape: Shape) -> str | None:
    """Return the jkt of a request. Return None if no jkt was sent, or if it is not a valid thumbprint."""
    try:
        fits = len(reading.decoded(request.jkt)) == reading.SHA256_BYTES
    except ValueError:
        return None
    there = request.jkt.encode() in (request.body if shape.in_body else request.url.encode())
    return request.jkt if fits and there else None


def _placed(token: str | None, path: tuple[str, ...]) -> bytes:
    """Return the body of an answer with the token at its place."""
    if not path:
        return (token or "").encode()
    value: object = token
    for name in reversed(path):
        value = {name: value}
    return json.dumps(value).encode()


def _filled(request: Request, login: Login) -> bool:
    sent = request.body.decode()
    return all(name in sent for name, _ in login.fields)
