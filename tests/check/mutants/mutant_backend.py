"""A getToken endpoint without faults. A mutant is a subclass that overrides a method."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final
from urllib.parse import parse_qs

from tests.check.mutants.mutant_server import Answer, Request

PROVIDER: Final = "prov_selftest"
SECRET: Final = "sk_5vJ0nQe-8yRwX2_dLkT7uB4mHsA9pZcG"
JKT: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
MOST: Final = 100_000
Claims = dict[str, Any]
PEOPLE: Final[Mapping[str, Claims]] = {
    "ada": {"uid": "u-1001", "name": "Ada Lindqvist", "email": "ada@shop.example"},
    "bo": {"uid": "u-1002", "name": "Bo Okafor", "email": "bo@shop.example"},
}
SESSIONS: Final = {"ada": "s-7f3a9c1e5b8d2046", "bo": "s-2b6d8e0f4a1c9357"}


class Clock:
    """The real time plus offsets. `sleep` and `wait` only move an offset, so they take no time.

    A backend sleeps, which makes its answer slow. The checker waits between calls, which makes no answer slow.
    """

    def __init__(self) -> None:
        self._slept = 0.0
        self._waited = 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return time.time() + self._slept + self._waited

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment, without the waiting. Only differences are meaningful."""
        return time.monotonic() + self._slept

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._slept += seconds

    def wait(self, seconds: float) -> None:
        with self._lock:
            self._waited += seconds


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def hs256(key: bytes, signed: bytes) -> bytes:
    return hmac.new(key, signed, hashlib.sha256).digest()


def jwt_session(person: str) -> str:
    """Return a correctly signed JWT that serves as a session."""
    segments = f"{b64(compact({'alg': 'HS256'}))}.{b64(compact({'who': person}))}"
    return f"{segments}.{b64(hs256(b'session key', segments.encode()))}"


def signed_uid(uid: str) -> str:
    """Return a session that consists of a uid and its signature."""
    return f"{uid}.{b64(hs256(b'session key', uid.encode()))}"


class Backend:
    """Answers `/chat/token`, `/me`, `/login` and `/logout` as a correct site does.

    `options` are fields of the checker's target that this backend needs. `path` is the path of the endpoint.
    """

    options: ClassVar[Mapping[str, Any]] = {}
    path: ClassVar[str] = "/chat/token"
    whole_site: ClassVar[bool] = False
    """Whether the backend is served under a host name of its own."""
    cookie: ClassVar[str] = "sid"
    forms: ClassVar[frozenset[str]] = frozenset({"/login"})
    """The paths to which a login posts forms."""

    def __init__(self, clock: Clock, secret: str = SECRET) -> None:
        self.clock = clock
        self.secret = secret
        self.started = clock.now()
        self.sessions = {session: person for person, session in SESSIONS.items()}
        self.calls = 0

    # the steps

    async def handle(self, request: Request) -> Answer:
        """Answer a request for any path of the site. The `Date` comes from this backend's clock."""
        if request.path == self.path:
            self.calls += 1
            return self.dated(await self.endpoint(request))
        answer = {"/me": self.me, "/login": self.login, "/logout": self.logout}.get(request.path, self.missing)
        return self.dated(answer(request))

    def dated(self, answer: Answer) -> Answer:
        answer.date = self.clock.now()
        return answer

    async def endpoint(self, request: Request) -> Answer:
        if request.method != "POST":
            return self.refusal(405, "POST only")
        if not self.right_type(request):
            return self.refusal(415, "JSON only")
        if len(request.body) > MOST:
            return self.refusal(413, "too large")
        body = self.parsed(request)
        jkt = self.jkt(request, body)
        if not self.right_jkt(jkt):
            return self.refusal(400, "jkt is malformed")
        person = self.person(request, body)
        return self.answer(request, self.token(person, jkt) if person else None)

    def right_type(self, request: Request) -> bool:
        return request.headers.get("content-type", "").startswith("application/json")

    def parsed(self, request: Request) -> Any:
        """Return the parsed body, or None if the body is not JSON."""
        try:
            return json.loads(request.body)
        except (ValueError, RecursionError):
            return None

    def jkt(self, request: Request, body: Any) -> Any:
        return body.get("jkt") if isinstance(body, dict) else None

    def right_jkt(self, jkt: Any) -> bool:
        """Return whether a jkt has the form of a thumbprint."""
        return isinstance(jkt, str) and JKT.fullmatch(jkt) is not None

    def person(self, request: Request, body: Any) -> Claims | None:
        """Return the person who is logged in, or None for a visitor."""
        name = self.sessions.get(request.cookies.get(self.cookie, ""))
        return dict(PEOPLE[name]) if name else None

    def token(self, person: Claims, jkt: Any) -> Any:
        return self.signed(self.header(), self.claims(person, jkt))

    def header(self) -> Claims:
        return {"alg": "HS256", "typ": "JWT"}

    def claims(self, person: Claims, jkt: Any) -> Claims:
        now = int(self.clock.now())
        return {"pid": PROVIDER, "type": "user", "cnf": {"jkt": jkt}, "iat": now, "exp": now + 3600, **person}

    def signed(self, header: Claims, claims: Claims) -> Any:
        segments = f"{b64(compact(header))}.{b64(self.payload(claims))}"
        return f"{segments}.{self.signature(segments)}"

    def payload(self, claims: Claims) -> bytes:
        return compact(claims)

    def key(self) -> bytes:
        return self.secret.encode()

    def signature(self, segments: str) -> str:
        return b64(hs256(self.key(), segments.encode()))

    def answer(self, request: Request, token: Any) -> Answer:
        return self.json(200, {"token": token})

    def refusal(self, status: int, error: str) -> Answer:
        return self.json(status, {"error": error})

    def json(self, status: int, body: object) -> Answer:
        return Answer(status, [("Content-Type", "application/json"), ("Cache-Control", "no-store")], compact(body))

    # the site around it

    def me(self, request: Request) -> Answer:
        """Return the answer of `/me`: the person who is logged in."""
        return self.json(200 if self.person(request, None) else 401, {})

    def login(self, request: Request) -> Answer:
        if request.method != "POST":
            hidden = '<input type="hidden" name="csrf" value="c-41">'
            page = f'<form method="post">{hidden}<input name="user"><input type="password" name="password"></form>'
            return Answer(200, [("Content-Type", "text/html")], page.encode())
        sent = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        if sent.get("csrf") != "c-41" or sent.get("user") not in PEOPLE or sent.get("password") != "hunter-2":
            return Answer(403)
        session = f"s-{len(self.sessions):02}-{hashlib.sha256(sent['user'].encode()).hexdigest()[:16]}"
        self.sessions[session] = sent["user"]
        return Answer(303, [("Location", "/"), ("Set-Cookie", self.set_cookie(session))])

    def set_cookie(self, session: str) -> str:
        """Return the value of the Set-Cookie header for the session."""
        return f"{self.cookie}={session}; Path=/; HttpOnly; SameSite=Lax"

    def logout(self, request: Request) -> Answer:
        self.sessions.pop(request.cookies.get(self.cookie, ""), None)
        return Answer(303, [("Location", "/"), ("Set-Cookie", f"{self.cookie}=; Path=/; Max-Age=0")])

    def missing(self, request: Request) -> Answer:
        return Answer(404)


Registered = dict[str, type[Backend]]
BROKEN: Final[Registered] = {}
"""Endpoints with one fault each, by name."""
UNUSUAL: Final[Registered] = {}
"""Correct but unusual endpoints, by name."""
Register = Callable[[type[Backend]], type[Backend]]


def register(known: Registered) -> Callable[[str], Register]:
    def named(name: str) -> Register:
        def keep(backend: type[Backend]) -> type[Backend]:
            if name in known:
                raise ValueError(f"there is a backend {name!r} already")
            known[name] = backend
            return backend

        return keep

    return named


def with_claims(known: Registered, name: str, change: Callable[[Claims], Claims]) -> None:
    class Changed(Backend):
        def claims(self, person: Claims, jkt: Any) -> Claims:
            return change(super().claims(person, jkt))

    register(known)(name)(Changed)


def with_answer(known: Registered, name: str, change: Callable[[Answer, str | None], Answer]) -> None:
    """Register a backend that changes the answers.

    `change` gets the answer and the token. The token is None for a visitor.
    """

    class Changed(Backend):
        def answer(self, request: Request, token: Any) -> Answer:
            return change(super().answer(request, token), token)

    register(known)(name)(Changed)


def with_key(known: Registered, name: str, change: Callable[[str], bytes]) -> None:
    """Register a backend whose signing key is `change(secret)`."""

    class Changed(Backend):
        def key(self) -> bytes:
            return change(self.secret)

    register(known)(name)(Changed)


def with_jkt(known: Registered, name: str, change: Callable[[str], Any]) -> None:
    class Changed(Backend):
        def claims(self, person: Claims, jkt: Any) -> Claims:
            return {**super().claims(person, jkt), "cnf": {"jkt": change(jkt)}}

    register(known)(name)(Changed)


def without(claims: Claims, *names: str) -> Claims:
    """Return the claims except those with the given names."""
    return {name: value for name, value in claims.items() if name not in names}
