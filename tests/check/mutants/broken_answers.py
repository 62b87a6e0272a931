"""Endpoints with faults in the status, body format or headers of their answers."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
from typing import Any
from urllib.parse import quote

from tests.check.mutants.mutant_backend import BROKEN, SECRET, SESSIONS, Backend, compact, register, with_answer
from tests.check.mutants.mutant_server import Answer, Request

broken = register(BROKEN)
HTML = ("Content-Type", "text/html")
INSIDE = base64.b64encode(f"key={SECRET};".encode()).decode()


def for_members(name: str, status: int, body: bytes, content_type: str = "text/plain") -> None:
    """Register a backend that answers every request of a member with this response."""
    with_answer(
        BROKEN, name, lambda answer, token: Answer(status, [("Content-Type", content_type)], body) if token else answer
    )


def body_of(name: str, make: Any, content_type: str = "application/json") -> None:
    """Register a backend that answers members with the body `make(token)`."""

    def change(answer: Answer, token: str | None) -> Answer:
        if token:
            answer.body = make(token)
            answer.set("Content-Type", content_type)
        return answer

    with_answer(BROKEN, name, change)


# reachable, and answers at all


@broken("nobody-listens")
class NobodyListens(Backend):
    options = {"url": "http://127.0.0.1:1{path}"}


@broken("lan-http")
class LanHttp(Backend):
    options = {"url": "http://192.168.1.5:{port}{path}", "connect_to": {"192.168.1.5": "127.0.0.1"}}


@broken("api-subdomain")
class ApiSubdomain(Backend):
    """F050: the page would have to call another origin."""

    options = {
        "url": "http://api.shop.localhost:{port}{path}",
        "page_origin": "http://shop.localhost:{port}",
    }


@broken("stale-session")
class StaleSession(Backend):
    options = {"whoami": "{base}/me"}

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sessions.clear()


@broken("slow")
class Slow(Backend):
    seconds = 6.0

    async def endpoint(self, request: Request) -> Answer:
        self.clock.sleep(self.seconds)
        return await super().endpoint(request)


@broken("sluggish")
class Sluggish(Slow):
    seconds = 1.5


@broken("never-answers")
class NeverAnswers(Backend):
    options = {"timeout": 0.2}

    async def endpoint(self, request: Request) -> Answer:
        await asyncio.sleep(1)
        return await super().endpoint(request)


class Drips(Backend):
    """Sends `begin`, and then `drips` repeatedly without end."""

    options = {"timeout": 0.3}
    begin = b""
    drips = b""

    async def endpoint(self, request: Request) -> Answer:
        return Answer(raw=self.begin, drips=self.drips)


@broken("drips-status")
class DripsStatus(Drips):
    begin, drips = b"HTTP/1.1 200 O", b"K"


@broken("drips-headers")
class DripsHeaders(Drips):
    begin, drips = b"HTTP/1.1 200 OK\r\n", b"X-More: to come\r\n"


@broken("drips-continue")
class DripsContinue(Drips):
    drips = b"HTTP/1.1 100 Continue\r\n\r\n"


@broken("drips-body")
class DripsBody(Drips):
    begin, drips = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{", b" "


class Open(Backend):
    """Announces a wrong `length`, or none, and keeps the connection open.

    The timeout leaves a loaded machine the time to begin an answer.
    """

    options = {"timeout": 2.0}
    length = b""

    def answer(self, request: Request, token: Any) -> Answer:
        body = json.dumps({"token": token}).encode()
        return Answer(raw=b"HTTP/1.1 200 OK\r\n" + self.length % (len(body) + 2) + b"\r\n" + body, stays_open=True)


@broken("length-too-large")
class LengthTooLarge(Open):
    length = b"Content-Length: %d\r\n"


@broken("no-length")
class NoLength(Open):
    length = b"X-Length: %d\r\n"


@broken("counts-characters")
class CountsCharacters(Backend):
    """Answers Bo alone with a letter that has two bytes."""

    def answer(self, request: Request, token: Any) -> Answer:
        bo = request.cookies.get("sid") == SESSIONS["bo"]
        answer, text = super().answer(request, token), compact({"token": token, "hello": "Grüezi" if bo else "Hi"})
        answer.body = text[: len(text.decode())]
        return answer


@broken("gzip-bomb")
class GzipBomb(Backend):
    def json(self, status: int, body: object) -> Answer:
        answer = super().json(status, body).add("Content-Encoding", "gzip, gzip")
        answer.body = BOMB
        return answer


BOMB = gzip.compress(gzip.compress(bytes(64 * 1024 * 1024)))
"""64 MiB of zeros, compressed twice to a few hundred bytes."""


@broken("flaky-500")
class Flaky(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(500) if self.calls % 9 == 0 else await super().endpoint(request)


@broken("crashes-once")
class CrashesOnce(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(502) if self.calls == 12 else await super().endpoint(request)


@broken("logs-out")
class LogsOut(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        answer = super().answer(request, token)
        return answer.add("Set-Cookie", "sid=; Path=/; Max-Age=0") if token else answer


@broken("anon-basic")
class AnonBasic(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        if token:
            return super().answer(request, token)
        return self.json(401, {"token": None}).add("WWW-Authenticate", 'Basic realm="shop"')


@broken("behind-basic")
class BehindBasic(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(401, [("WWW-Authenticate", 'Basic realm="staging"')])


@broken("slow-visitors")
class SlowVisitors(Slow):
    """Waits four seconds before each answer to a visitor."""

    seconds = 4.0

    async def endpoint(self, request: Request) -> Answer:
        self.seconds = 0.0 if request.cookies else 4.0
        return await super().endpoint(request)


@broken("stalls-when-busy")
class StallsWhenBusy(Backend):
    """Answers slowly for ever, once four calls have been in progress at the same time."""

    options = {"timeout": 0.25}
    busy = 0
    stuck = False

    async def endpoint(self, request: Request) -> Answer:
        self.busy += 1
        try:
            await asyncio.sleep(0.003)
            self.stuck |= self.busy > 3
            await asyncio.sleep(0.4 if self.stuck else 0)
            return await super().endpoint(request)
        finally:
            self.busy -= 1


for_members("csrf-419", 419, b"Page expired")
for_members("csrf-403", 403, b"<h1>Forbidden</h1>CSRF verification failed.", "text/html")
for_members("gone-404", 404, b"not found")
for_members("always-500", 500, b"oops")
for_members("needs-form-422", 422, b'{"detail": "field required"}', "application/json")


@broken("get-only")
class GetOnly(Backend):
    async def endpoint(self, request: Request) -> Answer:
        if request.method == "POST":
            return self.refusal(405, "GET only")
        return self.json(200, {"token": None})


@broken("hangs-up")
class HangsUp(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(raw=b"")


@broken("not-http")
class NotHttp(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(raw=b"SSH-2.0-OpenSSH_9.6\r\n")


@broken("redirect-slash")
class RedirectSlash(Backend):
    status = 301
    where = "chat/token/"

    async def endpoint(self, request: Request) -> Answer:
        return Answer(self.status, [("Location", self.where)])


@broken("redirect-login-for-all")
class RedirectLogin(RedirectSlash):
    status = 302
    where = "/login?next=/chat/token"


@broken("redirect-elsewhere")
class RedirectElsewhere(RedirectSlash):
    status = 307
    where = "https://id.example/chat/token"


@broken("redirect-loop")
class RedirectLoop(RedirectSlash):
    status = 308
    where = "token"


# the format of the answer

body_of("data-wrapped", lambda token: compact({"data": {"token": token}}))
body_of("bare-string", compact)
body_of("raw-text", str.encode, "text/plain")
body_of("wrong-member", lambda token: compact({"jwt": token}))
body_of("capital-member", lambda token: compact({"Token": token}))
body_of("access-token", lambda token: compact({"access_token": token, "token_type": "Bearer"}))
body_of("utf16-body", lambda token: compact({"token": token}).decode().encode("utf-16"))
body_of("python-repr", lambda token: str({"token": token}).encode())
body_of("json-prefix", lambda token: b")]}',\n" + compact({"token": token}))
body_of("in-a-list", lambda token: compact([{"token": token}]))
body_of("trailing-comma", lambda token: b'{"token": "' + token.encode() + b'",}')
body_of("twice-encoded", lambda token: compact(compact({"token": token}).decode()))
body_of("debug-bar-after", lambda token: compact({"token": token}) + b"\n<script>debugBar()</script>")
body_of("gzip-unnamed", lambda token: gzip.compress(compact({"token": token})))
body_of("warning-before", lambda token: b"<br />\n<b>Warning</b>: Undefined index\n" + compact({"token": token}))
body_of("empty-200", lambda token: b"")
body_of("error-200", lambda token: compact({"error": "not allowed"}))
body_of("as-html", lambda token: compact({"token": token}), "text/html; charset=utf-8")


@broken("no-content-204")
class NoContent(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        return Answer(204) if token else super().answer(request, token)


# headers

with_answer(BROKEN, "cacheable", lambda answer, _: answer.set("Cache-Control", "public, max-age=3600"))
with_answer(BROKEN, "private-only", lambda answer, _: answer.set("Cache-Control", "private, no-cache"))
with_answer(BROKEN, "secret-leak-b64", lambda a, _: a.add("X-Debug", base64.b64encode(SECRET.encode()).decode()))
with_answer(BROKEN, "secret-leak-b64-inside", lambda a, _: a.add("X-Config", INSIDE))
with_answer(BROKEN, "secret-leak-hex", lambda a, _: a.add("X-Debug", SECRET.encode().hex()))
with_answer(BROKEN, "token-link", lambda a, t: a.add("Link", f"<https://cdn.example/?t={quote(t)}>") if t else a)
with_answer(BROKEN, "token-cookie", lambda a, t: a.add("Set-Cookie", f"chat={t}; Path=/") if t else a)
with_answer(BROKEN, "token-header", lambda a, t: a.add("X-Chat-Token", t) if t else a)


@broken("secret-leak-error")
class SecretLeakError(Backend):
    def refusal(self, status: int, error: str) -> Answer:
        return self.json(status, {"error": error, "config": {"provider": "x", "key": self.secret}})


@broken("secret-leak-claim")
class SecretLeakClaim(Backend):
    def claims(self, person: dict[str, Any], jkt: Any) -> dict[str, Any]:
        return {**super().claims(person, jkt), "k": self.secret}


@broken("secret-on-page")
class SecretOnPage(Backend):
    options = {"page_url": "{base}/page"}

    async def handle(self, request: Request) -> Answer:
        if request.path == "/page":
            return Answer(
                200, [HTML], b'<script src="app.js"></script><script src="https://cdn.example/x.js"></script>'
            )
        if request.path == "/app.js":
            return Answer(200, [("Content-Type", "text/javascript")], f'const K = "{self.secret}"'.encode())
        return await super().handle(request)


class Cors(Backend):
    def allowed(self, request: Request) -> str | None:
        return None

    async def endpoint(self, request: Request) -> Answer:
        answer = Answer(204) if request.method == "OPTIONS" else await super().endpoint(request)
        allowed = self.allowed(request)
        return answer.add("Access-Control-Allow-Origin", allowed) if allowed else answer


@broken("cors-reflect")
class CorsReflect(Cors):
    def allowed(self, request: Request) -> str | None:
        return request.headers.get("origin")

    async def endpoint(self, request: Request) -> Answer:
        return (await super().endpoint(request)).add("Access-Control-Allow-Credentials", "true")


@broken("cors-star")
class CorsStar(Cors):
    def allowed(self, request: Request) -> str | None:
        return "*"


@broken("cors-null")
class CorsNull(Cors):
    def allowed(self, request: Request) -> str | None:
        return "null" if request.headers.get("origin") == "null" else None


@broken("cors-preflight")
class CorsPreflight(Cors):
    def allowed(self, request: Request) -> str | None:
        return request.headers.get("origin") if request.method == "OPTIONS" else None


@broken("cors-suffix")
class CorsSuffix(Cors):
    def allowed(self, request: Request) -> str | None:
        origin = request.headers.get("origin", "")
        return origin if origin.startswith("http://127.0.0.1") else None


@broken("cors-prefix")
class CorsPrefix(Cors):
    def allowed(self, request: Request) -> str | None:
        origin = request.headers.get("origin", "")
        return origin if "127.0.0.1" in origin and "evil.example" not in origin else None


@broken("secret-in-import")
class SecretInImport(Backend):
    """The secret is in a module that a script of the page imports."""

    options = {"page_url": "{base}/page"}

    async def handle(self, request: Request) -> Answer:
        if request.path == "/page":
            return Answer(200, [HTML], b'<script type=module>import { sign } from "./sign.js"; sign();</script>')
        if request.path == "/sign.js":
            return Answer(200, [("Content-Type", "text/javascript")], f'const key = "{SECRET}";'.encode())
        return await super().handle(request)


# answers that arrive but cannot be read


def cut_short(answer: Answer, _: str | None) -> Answer:
    answer.closes = True
    return answer.set("Content-Length", str(len(answer.body) + 40))


with_answer(BROKEN, "body-cut-short", cut_short)
with_answer(BROKEN, "says-gzip", lambda answer, _: answer.set("Content-Encoding", "gzip"))
for_members("bad-gateway", 502, b"<h1>502 Bad Gateway</h1>", "text/html")
for_members("maintenance", 503, b"<h1>Be right back</h1>", "text/html")
for_members("bot-wall", 403, b"<title>Just a moment...</title>", "text/html")


@broken("cors-loopback")
class CorsLoopback(Cors):
    def allowed(self, request: Request) -> str | None:
        origin = request.headers.get("origin", "")
        return origin if re.fullmatch(r"http://(?:localhost|127\.0\.0\.1):\d+", origin) else None


with_answer(BROKEN, "cdn-kept", lambda answer, _: answer.add("CDN-Cache-Control", "max-age=300"))
