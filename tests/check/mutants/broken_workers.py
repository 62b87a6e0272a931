"""Endpoints with a faulty worker, and endpoints that accept requests they should refuse."""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections import Counter
from typing import Any
from urllib.parse import parse_qs

from tests.check.mutants.mutant_backend import (
    BROKEN,
    PEOPLE,
    SESSIONS,
    Backend,
    Claims,
    b64,
    compact,
    hs256,
    register,
    with_claims,
    with_key,
    without,
)
from tests.check.mutants.mutant_server import Answer, Request

broken = register(BROKEN)


class Workers(Backend):
    """A site with a faulty worker, which creates one of every two tokens of a person, or one of `every`.

    If the tokens of all people were counted together, the order in which simultaneous calls arrive would decide whose
    tokens are faulty.
    """

    every = 2

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.made = Counter[str]()
        self.other = False

    def token(self, person: Claims, jkt: Any) -> Any:
        uid = str(person["uid"])
        self.made[uid] += 1
        self.other = self.made[uid] % self.every == 0
        return super().token(person, jkt)


@broken("worker-old-secret")
class WorkerOldSecret(Workers):
    def key(self) -> bytes:
        return b"the-secret-of-last-year-0123456789" if self.other else super().key()


@broken("worker-newline")
class WorkerNewline(Workers):
    def key(self) -> bytes:
        return super().key() + (b"\n" if self.other else b"")


@broken("worker-seventh-secret")
class WorkerSeventhSecret(WorkerOldSecret):
    every = 7


@broken("worker-other-alg")
class WorkerOtherAlg(Workers):
    def header(self) -> Claims:
        return {"alg": "HS512", "typ": "JWT"} if self.other else super().header()


def of_other_worker(name: str, change: Any, every: int = 2) -> None:
    """Register a backend in which one worker changes the claims."""

    class Changed(Workers):
        def claims(self, person: Claims, jkt: Any) -> Claims:
            made = super().claims(person, jkt)
            return change(made) if self.other else made

    Changed.every = every
    broken(name)(Changed)


of_other_worker("worker-staging-pid", lambda claims: {**claims, "pid": "prov_staging"})
of_other_worker("worker-seventh-pid", lambda claims: {**claims, "pid": "prov_staging"}, 7)
of_other_worker("worker-no-type", lambda claims: without(claims, "type"))
of_other_worker("worker-no-cnf", lambda claims: without(claims, "cnf"))
of_other_worker("worker-time-zone", lambda c: {**c, "iat": c["iat"] + 7200, "exp": c["exp"] + 7200})
of_other_worker("worker-seventh-day", lambda claims: {**claims, "exp": claims["exp"] + 86_400}, 7)
of_other_worker("worker-fifth-uid", lambda claims: {**claims, "uid": "u-9"}, 5)


class WorkerAnswers(Backend):
    """Answers every second call of a member with a faulty second worker."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.turns = 0

    def answer(self, request: Request, token: Any) -> Answer:
        self.turns += bool(token)
        honest = super().answer(request, token)
        return honest if not token or self.turns % 2 else self.other_answer(honest)

    def other_answer(self, honest: Answer) -> Answer:
        """Answer null, because the faulty worker does not know the session."""
        return self.json(200, {"token": None})


@broken("worker-forgets-session")
class WorkerForgetsSession(WorkerAnswers):
    pass


@broken("worker-crashes")
class WorkerCrashes(WorkerAnswers):
    def other_answer(self, honest: Answer) -> Answer:
        return Answer(500, [], b"oops")


@broken("worker-old-release")
class WorkerOldRelease(WorkerAnswers):
    def other_answer(self, honest: Answer) -> Answer:
        return honest.set("Cache-Control", "public, max-age=60")


# keys

with_key(BROKEN, "key-line-of-env", lambda secret: f"CHAT_SECRET={secret}".encode())
with_key(BROKEN, "key-secrets-manager", lambda secret: json.dumps({"secret_key": secret}).encode())
with_key(BROKEN, "key-masked", lambda secret: b"**********")
with_key(BROKEN, "key-unexpanded", lambda secret: b"${CHAT_SECRET}")
with_key(BROKEN, "key-in-list", lambda secret: f"['{secret}']".encode())
with_key(BROKEN, "key-newline-base64", lambda secret: base64.b64encode(f"{secret}\n".encode()))
with_key(BROKEN, "key-non-breaking-space", lambda secret: f"{secret}\u00a0".encode())
with_key(BROKEN, "key-twice", lambda secret: (secret * 2).encode())

# jkt


class Pattern(Backend):
    """Validates the jkt with a wrong regular expression."""

    def right_jkt(self, jkt: Any) -> bool:
        return isinstance(jkt, str) and self.found(jkt)

    def found(self, jkt: str) -> bool:
        return re.match(r"[A-Za-z0-9_-]{43}$", jkt) is not None


@broken("jkt-pattern-dollar")
class PatternDollar(Pattern):
    pass


@broken("jkt-pattern-lines")
class PatternLines(Pattern):
    def found(self, jkt: str) -> bool:
        return re.search(r"^[A-Za-z0-9_-]{43}\Z", jkt, re.MULTILINE) is not None


@broken("jkt-first-not-dash")
class FirstNotDash(Pattern):
    def found(self, jkt: str) -> bool:
        return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{42}", jkt) is not None


# uid and private data

UIDS = {
    "uid-object-id": "ObjectId('507f1f77')",
    "uid-django-repr": "User object (1001)",
    "uid-ruby-repr": "#<User:0x00007f>",
    "uid-bytes-repr": "b'u-1001'",
    "uid-function": "function () { return id }",
}


def with_uid(name: str, uid: str) -> None:
    with_claims(BROKEN, name, lambda claims: {**claims, "uid": uid})


for name, uid in UIDS.items():
    with_uid(name, uid)


@broken("session-in-claims")
class SessionInClaims(Backend):
    def claims(self, person: Claims, jkt: Any) -> Claims:
        name = next(name for name, known in PEOPLE.items() if known["uid"] == person["uid"])
        return {**super().claims(person, jkt), "reference": SESSIONS[name]}


with_claims(BROKEN, "claim-remember-token", lambda claims: {**claims, "remember_token": "kD93jf03jf0sd9f8"})
with_claims(BROKEN, "claim-token-in-token", lambda claims: {**claims, "inner": f"eyJ{b64(b'x' * 9)}.e30.AA"})
with_claims(BROKEN, "claim-rows", lambda claims: {**claims, "rows": [{"id": 1, "password_hash": "5f4dcc"}]})
with_claims(BROKEN, "name-two-unset", lambda claims: {**claims, "name": "undefined undefined"})
with_claims(BROKEN, "name-turned-around", lambda claims: {**claims, "name": "Ada \u202egnp.exe"})

# sessions


@broken("empty-cookie-is-somebody")
class EmptyCookie(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        empty = request.cookies.get("sid") == ""
        return dict(PEOPLE["ada"]) if empty else super().person(request, body)


@broken("session-alg-none")
class SessionAlgNone(Backend):
    """Keeps the session in a JWT, and accepts a JWT with `alg` set to `none`."""

    options = {"login": "jwt", "login_b": None}

    def person(self, request: Request, body: Any) -> Claims | None:
        segments, _, signature = request.cookies.get("sid", "").rpartition(".")
        try:
            header, claims = (json.loads(base64.urlsafe_b64decode(f"{part}===")) for part in segments.split("."))
        except ValueError:
            return None
        signed = signature == b64(hs256(b"session key", segments.encode()))
        return dict(PEOPLE[claims["who"]]) if signed or header.get("alg") == "none" else None


# requests


@broken("form-accepted")
class FormAccepted(Backend):
    form = "application/x-www-form-urlencoded"

    def right_type(self, request: Request) -> bool:
        return super().right_type(request) or request.headers.get("content-type") == self.form

    def parsed(self, request: Request) -> Any:
        if request.headers.get("content-type") != self.form:
            return super().parsed(request)
        return {name: values[0] for name, values in parse_qs(request.body.decode()).items()}


@broken("no-type-accepted")
class NoTypeAccepted(Backend):
    def right_type(self, request: Request) -> bool:
        return request.headers.get("content-type", "application/json").startswith("application/json")


class Crashes(Backend):
    """Answers 500 to a body that is not an object."""

    body = b"[]"

    async def endpoint(self, request: Request) -> Answer:
        if request.method == "POST" and request.body == self.body:
            return Answer(500, [], b"'list' object has no attribute 'get'")
        return await super().endpoint(request)


@broken("array-500")
class Array500(Crashes):
    pass


@broken("null-500")
class Null500(Crashes):
    body = b"null"


@broken("empty-500")
class Empty500(Crashes):
    body = b""


TRACES = {
    "trace-go": b"panic: EOF\n\ngoroutine 18 [running]:\nmain.handler(0xc0)\n\t/src/main.go:31 +0x1d",
    "trace-ruby": b"JSON::ParserError\napp/controllers/chat_controller.rb:7:in `create'",
    "trace-dotnet": b"System.Text.Json.JsonException\r\n   at Shop.Token(String x) in C:\\src\\Program.cs:line 12",
    "trace-laravel": compact({"message": "Syntax error", "trace": [{"file": "/var/www/x.php", "line": 5}]}),
    "trace-in-json": compact({"stack": "SyntaxError\n    at parse (/app/node_modules/body-parser/json.js:92:19)"}),
}


def tells(name: str, trace: bytes) -> None:
    """Register a backend that answers invalid JSON with this stack trace."""

    class Tells(Backend):
        async def endpoint(self, request: Request) -> Answer:
            if request.method == "POST" and self.parsed(request) is None:
                return Answer(400, [("Content-Type", "text/plain")], trace)
            return await super().endpoint(request)

    broken(name)(Tells)


for name, trace in TRACES.items():
    tells(name, trace)


@broken("customer-id-believed")
class CustomerIdBelieved(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        named = body.get("customer_id") if isinstance(body, dict) else None
        return {"uid": named} if named else super().person(request, body)


@broken("no-store-misspelt")
class NoStoreMisspelt(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        return super().answer(request, token).set("Cache-Control", "private, no-storage, x-no-store")


@broken("rails-csrf-422")
class RailsCsrf(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        page = f"<h1>ActionController::InvalidAuthenticityToken</h1>{secrets.token_hex(4)}".encode()
        return Answer(422, [("Content-Type", "text/html")], page) if token else super().answer(request, token)


@broken("redirect-no-address")
class RedirectNoAddress(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(307, [("Location", "http://[bad")])


@broken("redirect-no-port")
class RedirectNoPort(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(308, [("Location", "http://127.0.0.1:99999/chat/token")])
