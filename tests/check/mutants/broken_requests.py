"""Endpoints that handle visitors or malformed requests incorrectly."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import unquote_plus

from tests.check.mutants.mutant_backend import BROKEN, PEOPLE, Backend, Claims, compact, register, with_answer
from tests.check.mutants.mutant_server import Answer, Request

broken = register(BROKEN)
TRACEBACK = b"""<h1>Bad Request</h1><pre>SyntaxError: Unexpected end of JSON input
    at JSON.parse (<anonymous>)
    at parse (/srv/shop/node_modules/body-parser/lib/types/json.js:92:19)</pre>"""


def for_visitors(name: str, status: int, body: bytes = b"", *headers: tuple[str, str]) -> None:
    """Register a backend that answers every request of a visitor with this response."""
    with_answer(BROKEN, name, lambda answer, token: answer if token else Answer(status, list(headers), body))


JSON = ("Content-Type", "application/json")
HTML = ("Content-Type", "text/html")

# nobody logged in

for_visitors("anon-login-redirect", 302, b"", ("Location", "/login"))
for_visitors("anon-login-307", 307, b"", ("Location", "login"))
for_visitors("anon-login-html", 200, b"<html><form>Sign in</form></html>", HTML)
for_visitors("anon-204", 204)
for_visitors("anon-empty-object", 200, b"{}", JSON)
for_visitors("anon-bare-null", 200, b"null", JSON)
for_visitors("anon-wrapped-null", 200, b'{"data": null}', JSON)
for_visitors("anon-string-null", 200, b'{"token": "null"}', JSON)
for_visitors("anon-empty-string", 200, b'{"token": ""}', JSON)
for_visitors("anon-false", 200, b'{"token": false}', JSON)
for_visitors("anon-object", 200, b'{"token": {}}', JSON)
for_visitors("anon-500", 500, b"KeyError: 'user_id'")
for_visitors("anon-401", 401, b'{"token": null}', JSON)
for_visitors("anon-401-text", 401, b"Unauthorized", ("Content-Type", "text/plain"))
for_visitors("anon-404", 404, b"not found")


@broken("anon-hangs-up")
class AnonHangsUp(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        return super().answer(request, token) if token else Answer(raw=b"")


@broken("anon-guest")
class AnonGuest(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        return super().person(request, body) or {"uid": "guest-1"}


@broken("anon-first-user")
class AnonFirstUser(Backend):
    """Treats a visitor as the first user in the table."""

    def person(self, request: Request, body: Any) -> Claims | None:
        return super().person(request, body) or dict(PEOPLE["ada"])


@broken("any-cookie")
class AnyCookie(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        return super().person(request, body) or (dict(PEOPLE["ada"]) if "sid" in request.cookies else None)


@broken("garbage-500")
class Garbage500(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        if person is None and "sid" in request.cookies:
            raise LookupError
        return person

    async def endpoint(self, request: Request) -> Answer:
        try:
            return await super().endpoint(request)
        except LookupError:
            return Answer(500, [], b"session not found")


@broken("garbage-redirect")
class GarbageRedirect(Garbage500):
    async def endpoint(self, request: Request) -> Answer:
        answer = await super().endpoint(request)
        return Answer(302, [("Location", "/login")]) if answer.status == 500 else answer


@broken("unverified-session")
class UnverifiedSession(Backend):
    """Keeps the session in a JWT, and does not verify the signature."""

    options = {"login": "jwt", "login_b": None}

    def person(self, request: Request, body: Any) -> Claims | None:
        parts = request.cookies.get("sid", "").split(".")
        try:
            who = json.loads(base64.urlsafe_b64decode(f"{parts[1]}===")).get("who")
        except (IndexError, ValueError):
            return None
        return dict(PEOPLE[who]) if who in PEOPLE else None


@broken("logout-client-only")
class LogoutClientOnly(Backend):
    options = {"logout_url": "{base}/logout"}

    def logout(self, request: Request) -> Answer:
        return Answer(303, [("Location", "/"), ("Set-Cookie", "sid=; Path=/; Max-Age=0")])


# malformed requests


class Loose(Backend):
    """Accepts a jkt that is not a thumbprint."""

    def right_jkt(self, jkt: Any) -> bool:
        return True


@broken("jkt-optional")
class JktOptional(Loose):
    def claims(self, person: Claims, jkt: Any) -> Claims:
        made = super().claims(person, jkt)
        return made if jkt else {name: value for name, value in made.items() if name != "cnf"}


@broken("jkt-stringified")
class JktStringified(Loose):
    def jkt(self, request: Request, body: Any) -> Any:
        return str(body["jkt"]) if isinstance(body, dict) and "jkt" in body else None

    def right_jkt(self, jkt: Any) -> bool:
        return bool(jkt)


@broken("jkt-empty-ok")
class JktEmptyOk(Loose):
    def right_jkt(self, jkt: Any) -> bool:
        return isinstance(jkt, str) and (not jkt or super(Loose, self).right_jkt(jkt))


@broken("jkt-any-length")
class JktAnyLength(Loose):
    def right_jkt(self, jkt: Any) -> bool:
        return isinstance(jkt, str) and bool(jkt)


@broken("jkt-unicode")
class JktUnicode(Loose):
    def right_jkt(self, jkt: Any) -> bool:
        return isinstance(jkt, str) and len(jkt) == 43 and jkt.replace("-", "").replace("_", "").isalnum()


@broken("jkt-type-crash")
class JktTypeCrash(Backend):
    def right_jkt(self, jkt: Any) -> bool:
        return super().right_jkt(jkt.strip() if jkt is not None else None)

    async def endpoint(self, request: Request) -> Answer:
        try:
            return await super().endpoint(request)
        except AttributeError:
            return Answer(500)


@broken("jkt-first-of-list")
class JktFirstOfList(Backend):
    def jkt(self, request: Request, body: Any) -> Any:
        jkt = super().jkt(request, body)
        return (jkt[0] * 43)[:43] if isinstance(jkt, list) else jkt


@broken("extra-field-400")
class ExtraField400(Backend):
    def parsed(self, request: Request) -> Any:
        body = super().parsed(request)
        return body if isinstance(body, dict) and set(body) <= {"jkt"} else None


class BadJson(Backend):
    """Gives the answer `bad` to a body that is not JSON."""

    bad = Answer(500, [], b"oops")

    async def endpoint(self, request: Request) -> Answer:
        if request.method == "POST" and self.parsed(request) is None:
            return Answer(self.bad.status, list(self.bad.headers), self.bad.body)
        return await super().endpoint(request)


@broken("bad-json-500")
class BadJson500(BadJson):
    pass


@broken("bad-json-traceback")
class BadJsonTraceback(BadJson):
    bad = Answer(400, [HTML], TRACEBACK)


@broken("bad-json-python-traceback")
class BadJsonPythonTraceback(BadJson):
    bad = Answer(400, [], b'Traceback (most recent call last):\n  File "app.py", line 3, in token\n')


@broken("bad-json-200")
class BadJson200(BadJson):
    bad = Answer(200, [HTML], b"<p>Something went wrong.</p>")


@broken("any-type")
class AnyType(Backend):
    def right_type(self, request: Request) -> bool:
        return True


@broken("form-type")
class FormType(Backend):
    def right_type(self, request: Request) -> bool:
        return super().right_type(request) or "form" in request.headers.get("content-type", "")


class ByGet(Backend):
    """Also answers GET."""

    async def endpoint(self, request: Request) -> Answer:
        if request.method == "GET":
            request.method, request.headers["content-type"] = "POST", "application/json"
            request.body = compact({"jkt": unquote_plus(request.query.get("jkt", ""))})
        return await super().endpoint(request)


@broken("get-mints")
class GetMints(ByGet):
    pass


@broken("get-text")
class GetText(ByGet):
    """Answers GET with the token alone, as text."""

    async def endpoint(self, request: Request) -> Answer:
        by_get = request.method == "GET"
        answer = await super().endpoint(request)
        if by_get and answer.status == 200:
            answer.body = str(json.loads(answer.body)["token"]).encode()
        return answer


@broken("get-jsonp")
class GetJsonp(ByGet):
    """Answers GET with a script that passes the answer to the function named in `callback`."""

    async def endpoint(self, request: Request) -> Answer:
        if request.method == "GET" and "callback" not in request.query:
            return self.refusal(405, "POST only")
        function = request.query.get("callback")
        answer = await super().endpoint(request)
        if function:
            answer.body = f"{function}({answer.body.decode()})".encode()
        return answer


@broken("put-mints")
class PutMints(Backend):
    """Also answers PUT."""

    async def endpoint(self, request: Request) -> Answer:
        request.method = "POST" if request.method == "PUT" else request.method
        return await super().endpoint(request)


@broken("get-500")
class Get500(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(500) if request.method == "GET" else await super().endpoint(request)


class Big(Backend):
    """Gives a different answer to a large body."""

    async def endpoint(self, request: Request) -> Answer:
        return self.big() if len(request.body) > 9000 else await super().endpoint(request)

    def big(self) -> Answer:
        return Answer(500, [], b"stack overflow")


@broken("big-500")
class Big500(Big):
    pass


@broken("big-slow")
class BigSlow(Big):
    def big(self) -> Answer:
        self.clock.sleep(3)
        return self.refusal(400, "jkt is malformed")


# the secret and the session

for name, secret in {
    "weak-secret": "secret123",
    "short-secret": "kX7_pQ2-vR9w",
    "repeated-secret": "secret" * 8,
    "manual-secret": "a-string-secret-at-least-256-bits-long",
    "pem-secret": "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK\n-----END PUBLIC KEY-----",
}.items():
    broken(name)(type(name, (Backend,), {"options": {"secret": secret}}))


@broken("samesite-none")
class SameSiteNone(Backend):
    options = {"login": "form", "login_b": None}

    def set_cookie(self, session: str) -> str:
        return f"sid={session}; Path=/; HttpOnly; Secure; SameSite=None"


@broken("no-body-limit")
class NoBodyLimit(Backend):
    async def endpoint(self, request: Request) -> Answer:
        if request.method != "POST" or not self.right_type(request):
            return self.refusal(400, "POST JSON")
        body = self.parsed(request)
        jkt = self.jkt(request, body)
        if not self.right_jkt(jkt):
            return self.refusal(400, "jkt is malformed")
        person = self.person(request, body)
        return self.answer(request, self.token(person, jkt) if person else None)
