"""Endpoints that are right, and out of the ordinary: nothing may be said against them."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import secrets
import zlib
from typing import Any
from urllib.parse import unquote

from mutant_backend import (
    UNUSUAL,
    Backend,
    Claims,
    b64,
    hs256,
    register,
    with_answer,
    with_claims,
)
from mutant_server import Answer, Request

unusual = register(UNUSUAL)

# the token

with_claims(
    UNUSUAL,
    "Extra",
    lambda claims: {
        **claims,
        "iss": "https://shop.example",
        "aud": ["chat", "shop"],
        "sub": claims["uid"],
        "nbf": claims["iat"],
        "jti": secrets.token_hex(8),
        "plan": "gold",
        "email_verified": True,
        "password_changed_at": claims["iat"] - 9999,
        "has_password": True,
    },
)
with_claims(UNUSUAL, "CnfMore", lambda claims: {**claims, "cnf": {**claims["cnf"], "kid": "k-1"}})
with_claims(UNUSUAL, "Life55", lambda claims: {**claims, "exp": claims["iat"] + 3300})
with_claims(UNUSUAL, "Life50", lambda claims: {**claims, "exp": claims["iat"] + 3000})
with_claims(UNUSUAL, "Life65", lambda claims: {**claims, "exp": claims["iat"] + 3900})
with_claims(UNUSUAL, "UnicodeName", lambda claims: {**claims, "name": "渡辺 みなみ 👩‍🚀 O'Neil <b>"})
with_claims(UNUSUAL, "UnicodeUid", lambda claims: {**claims, "uid": f"käufer/{claims['uid']}"})
with_claims(UNUSUAL, "ColonUid", lambda claims: {**claims, "uid": f"crm:{claims['uid']}"})
with_claims(
    UNUSUAL, "UuidUid", lambda claims: {**claims, "uid": f"5f0c6a2e-8a2b-4b60-9d0f-00000000{claims['uid'][-4:]}"}
)
with_claims(UNUSUAL, "LongNumberUid", lambda claims: {**claims, "uid": f"49170123456{claims['uid'][-4:]}"})
with_claims(UNUSUAL, "ShortUid", lambda claims: {**claims, "uid": claims["uid"][-1]})
with_claims(UNUSUAL, "NullProfile", lambda claims: {**claims, "name": None, "email": None, "avatar": None})
with_claims(UNUSUAL, "NoProfile", lambda c: {k: v for k, v in c.items() if k not in {"name", "email"}})
with_claims(UNUSUAL, "HttpAvatar", lambda c: {**c, "avatar": "http://cdn.example:8080/a%20b.png?s=64#x"})
with_claims(UNUSUAL, "IdnAvatar", lambda claims: {**claims, "avatar": "https://bücher.example/ä.png"})
with_claims(UNUSUAL, "NbfEarlier", lambda claims: {**claims, "nbf": claims["iat"] - 300})
with_claims(UNUSUAL, "IatBehind", lambda claims: {**claims, "iat": claims["iat"] - 30})
with_claims(UNUSUAL, "Reversed", lambda claims: dict(reversed(claims.items())))
with_claims(UNUSUAL, "NearlyLarge", lambda claims: {**claims, "roles": ["r" * 30] * 70})


@unusual("Kid")
class Kid(Backend):
    def header(self) -> Claims:
        return {"typ": "JWT", "kid": "2026-11", "alg": "HS256"}


@unusual("NoTyp")
class NoTyp(Backend):
    def header(self) -> Claims:
        return {"alg": "HS256"}


@unusual("SmallTyp")
class SmallTyp(Backend):
    def header(self) -> Claims:
        return {"alg": "HS256", "typ": "jwt", "cty": "json"}


@unusual("Escaped")
class Escaped(Backend):
    def payload(self, claims: Claims) -> bytes:
        return json.dumps({**claims, "name": "Tomás/Ada"}).replace("/", "\\/").encode()

    def json(self, status: int, body: object) -> Answer:
        answer = super().json(status, body)
        answer.body = answer.body.replace(b".", b"\\u002e")
        return answer


@unusual("SpacedJson")
class SpacedJson(Backend):
    def payload(self, claims: Claims) -> bytes:
        return f"\n{json.dumps(claims, indent=2)}\n".encode()


@unusual("CachedPair")
class CachedPair(Backend):
    """Caches per user and jkt; what a browser gets is four minutes old."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: dict[tuple[str, str], str] = {}

    def token(self, person: Claims, jkt: Any) -> Any:
        return self.kept.setdefault((person["uid"], jkt), super().token(person, jkt))

    def claims(self, person: Claims, jkt: Any) -> Claims:
        made = super().claims(person, jkt)
        return {**made, "iat": made["iat"] - 240, "exp": made["exp"] - 240}


@unusual("RoundedMinute")
class RoundedMinute(Backend):
    def claims(self, person: Claims, jkt: Any) -> Claims:
        minute = int(self.clock.now()) // 60 * 60
        return {**super().claims(person, jkt), "iat": minute, "exp": minute + 3600}


@unusual("ClockSlow")
class ClockSlow(Backend):
    def dated(self, answer: Answer) -> Answer:
        answer.date = self.clock.now() + 20
        return answer

    def claims(self, person: Claims, jkt: Any) -> Claims:
        made = super().claims(person, jkt)
        return {**made, "iat": made["iat"] + 20, "exp": made["exp"] + 20}


@unusual("NoDate")
class NoDate(Backend):
    def dated(self, answer: Answer) -> Answer:
        return answer


@unusual("OddDate")
class OddDate(Backend):
    def dated(self, answer: Answer) -> Answer:
        return answer.set("Date", "yesterday")


@unusual("BrokenClockProxy")
class BrokenClockProxy(Backend):
    """A proxy before it says 1970; the tokens are right."""

    def dated(self, answer: Answer) -> Answer:
        answer.date = 0.0
        return answer


# the answer


def with_body(name: str, change: Any) -> None:
    """Keep a backend that writes the bytes of its answers in its own way."""

    def changed(answer: Answer, _: str | None) -> Answer:
        answer.body = change(answer.body)
        return answer

    with_answer(UNUSUAL, name, changed)


with_body("ByteOrderMark", lambda body: b"\xef\xbb\xbf" + body)
with_body("TrailingSpace", lambda body: b"\n  " + body + b"  \r\n\t\n")
with_body("ExtraMembers", lambda body: body[:-1] + b', "expires_in": 3600, "user": {"name": "Ada"}, "data": null}')
with_body("TokenLast", lambda body: b'{"status": "ok", "jwt": null, ' + body[1:])
with_answer(UNUSUAL, "Charset", lambda answer, _: answer.set("Content-Type", "application/json; charset=utf-8"))
with_answer(UNUSUAL, "CapitalType", lambda answer, _: answer.set("Content-Type", "Application/JSON;charset=UTF-8"))
with_answer(UNUSUAL, "HalJson", lambda answer, _: answer.set("Content-Type", "application/hal+json"))
with_answer(UNUSUAL, "LongCacheControl", lambda a, _: a.set("Cache-Control", "private, No-Store, max-age=0, no-cache"))
with_answer(UNUSUAL, "TwoCacheControls", lambda a, _: a.add("Cache-Control", "private").add("Pragma", "no-cache"))
with_answer(UNUSUAL, "VaryCookie", lambda a, _: a.add("Vary", "Cookie, Origin").add("ETag", '"x"'))
with_answer(UNUSUAL, "CorsOwnOrigin", lambda a, _: a.add("Access-Control-Allow-Origin", "https://shop.example"))
with_answer(UNUSUAL, "ManyHeaders", lambda a, _: _many(a))


def _many(answer: Answer) -> Answer:
    for number in range(40):
        answer.add(f"X-Trace-{number}", secrets.token_hex(8))
    return answer


@unusual("Status201")
class Status201(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        answer = super().answer(request, token)
        answer.status = 201
        return answer


@unusual("Status203")
class Status203(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        answer = super().answer(request, token)
        answer.status = 203
        return answer


@unusual("Redirect307")
class Redirect307(Backend):
    """Sends everybody on, method and body kept; that is told as a warning."""

    async def handle(self, request: Request) -> Answer:
        if request.path == self.path:
            query = "?" + "&".join(f"{name}={value}" for name, value in request.query.items()) if request.query else ""
            return self.dated(Answer(307, [("Location", f"token/{query}")]))
        if request.path == f"{self.path}/":
            return self.dated(await self.endpoint(request))
        return await super().handle(request)


@unusual("NullOnBad")
class NullOnBad(Backend):
    def refusal(self, status: int, error: str) -> Answer:
        return self.json(200, {"token": None})


@unusual("Problem")
class Problem(Backend):
    def refusal(self, status: int, error: str) -> Answer:
        answer = self.json(status, {"type": "about:blank", "title": error, "status": status})
        return answer.set("Content-Type", "application/problem+json")


@unusual("PlainRefusals")
class PlainRefusals(Backend):
    def refusal(self, status: int, error: str) -> Answer:
        return Answer(status, [("Content-Type", "text/html")], b"<h1>Bad Request</h1>\n<p>at least one field</p>")


@unusual("EmptyRefusals")
class EmptyRefusals(Backend):
    def refusal(self, status: int, error: str) -> Answer:
        return Answer(status)


@unusual("Refuses422")
class Refuses422(Backend):
    def refusal(self, status: int, error: str) -> Answer:
        return self.json(422, {"detail": [{"loc": ["body", "jkt"], "msg": error}]})


@unusual("HtmlOnGet")
class HtmlOnGet(Backend):
    """A page of an application that answers every GET with its one page."""

    async def endpoint(self, request: Request) -> Answer:
        if request.method in {"GET", "HEAD"}:
            return Answer(200, [("Content-Type", "text/html")], b"<!doctype html><div id=app></div>")
        return await super().endpoint(request)


@unusual("OddOptions")
class OddOptions(Backend):
    async def endpoint(self, request: Request) -> Answer:
        if request.method == "OPTIONS":
            return Answer(501, [("Allow", "POST")])
        return await super().endpoint(request)


@unusual("HangsUpOnBigBodies")
class HangsUpOnBigBodies(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(raw=b"") if len(request.body) > 20_000 else await super().endpoint(request)


@unusual("NoBodyLimit")
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


# the connection


@unusual("Gzip")
class Gzip(Backend):
    def json(self, status: int, body: object) -> Answer:
        answer = super().json(status, body).add("Content-Encoding", "gzip").add("Vary", "Accept-Encoding")
        answer.body = gzip.compress(answer.body)
        return answer


@unusual("Deflate")
class Deflate(Backend):
    def json(self, status: int, body: object) -> Answer:
        answer = super().json(status, body).add("Content-Encoding", "deflate")
        answer.body = zlib.compress(answer.body)
        return answer


@unusual("Chunked")
class Chunked(Backend):
    def dated(self, answer: Answer) -> Answer:
        answer.chunked = answer.status != 204
        return super().dated(answer)


@unusual("Http10")
class Http10(Backend):
    def dated(self, answer: Answer) -> Answer:
        answer.version, answer.closes = "HTTP/1.0", True
        return super().dated(answer)


@unusual("ClosesAlways")
class ClosesAlways(Backend):
    def dated(self, answer: Answer) -> Answer:
        answer.closes = True
        return super().dated(answer)


@unusual("ClosesSilently")
class ClosesSilently(Backend):
    """Closes after each answer without having said so."""

    def dated(self, answer: Answer) -> Answer:
        wire = super().dated(answer).wire()
        return Answer(raw=wire)


@unusual("CapitalHeaders")
class CapitalHeaders(Backend):
    def dated(self, answer: Answer) -> Answer:
        dated = super().dated(answer)
        dated.headers = [(name.upper(), value) for name, value in dated.headers]
        return dated


@unusual("SmallHeaders")
class SmallHeaders(Backend):
    def dated(self, answer: Answer) -> Answer:
        dated = super().dated(answer)
        dated.headers = [(name.lower(), value) for name, value in dated.headers]
        return dated


@unusual("EarlyHints")
class EarlyHints(Backend):
    """Sends an interim answer before the real one."""

    def dated(self, answer: Answer) -> Answer:
        wire = super().dated(answer).wire()
        return Answer(raw=b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + wire)


@unusual("HalfASecond")
class HalfASecond(Backend):
    async def endpoint(self, request: Request) -> Answer:
        self.clock.sleep(0.5)
        return await super().endpoint(request)


@unusual("ColdStart")
class ColdStart(Backend):
    """Compiles at its first call."""

    async def endpoint(self, request: Request) -> Answer:
        if self.calls == 1:
            self.clock.sleep(4)
        return await super().endpoint(request)


@unusual("OneAtATime")
class OneAtATime(Backend):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.turn = asyncio.Lock()

    async def endpoint(self, request: Request) -> Answer:
        async with self.turn:
            await asyncio.sleep(0.002)
            return await super().endpoint(request)


@unusual("LimitsBursts")
class LimitsBursts(Backend):
    """Lets four calls in at once, and asks the others to come again."""

    busy = 0

    async def endpoint(self, request: Request) -> Answer:
        self.busy += 1
        try:
            await asyncio.sleep(0.003)
            if self.busy > 4:
                return Answer(429, [("Retry-After", "1")])
            return await super().endpoint(request)
        finally:
            self.busy -= 1


@unusual("LimitsRate")
class LimitsRate(Backend):
    """Lets forty calls in, and then asks for a second's patience."""

    left = 40

    async def endpoint(self, request: Request) -> Answer:
        if self.left == 0:
            self.left = 40
            return Answer(429, [("Retry-After", "1")])
        self.left -= 1
        return await super().endpoint(request)


# the session


class Rotating(Backend):
    """Gives a new cookie with every answer."""

    def keeps(self, session: str) -> None:
        """Keep the old one, too, or not."""

    async def endpoint(self, request: Request) -> Answer:
        answer = await super().endpoint(request)
        session = request.cookies.get("sid", "")
        name = self.sessions.get(session)
        if name is None:
            return answer
        fresh = f"s-{secrets.token_hex(8)}"
        self.sessions[fresh] = name
        self.keeps(session)
        return answer.add("Set-Cookie", f"sid={fresh}; Path=/; HttpOnly")


@unusual("RotatesCookie")
class RotatesCookie(Rotating):
    pass


@unusual("RotatesStrictly")
class RotatesStrictly(Rotating):
    def keeps(self, session: str) -> None:
        del self.sessions[session]


@unusual("LogsOutOnForeignOrigin")
class LogsOutOnForeignOrigin(Backend):
    async def endpoint(self, request: Request) -> Answer:
        if not request.headers.get("origin", "").startswith("http://127.0.0.1"):
            return self.json(403, {"error": "origin"}).add("Set-Cookie", "sid=; Max-Age=0").add("Set-Cookie", "x=1")
        return await super().endpoint(request)


@unusual("TwoCookies")
class TwoCookies(Backend):
    """Sets cookies that have nothing to do with the session, two in one answer."""

    async def endpoint(self, request: Request) -> Answer:
        answer = await super().endpoint(request)
        return answer.add("Set-Cookie", "lang=en; Path=/").add("Set-Cookie", "seen=1; SameSite=None; Secure")


@unusual("BearerSession")
class BearerSession(Backend):
    options = {"login": "bearer", "login_b": None}

    def person(self, request: Request, body: Any) -> Claims | None:
        scheme, _, credential = request.headers.get("authorization", "").partition(" ")
        request.headers["cookie"] = f"sid={credential}" if scheme == "Bearer" else ""
        return super().person(request, body)


@unusual("CsrfCookie")
class CsrfCookie(Backend):
    """Wants the value of a cookie in a header, of members only."""

    options = {"login": "csrf", "login_b": None, "headers": (("X-CSRFToken", "{cookie:csrftoken}"),)}

    async def endpoint(self, request: Request) -> Answer:
        cookie = request.cookies.get("csrftoken")
        if cookie and request.headers.get("x-csrftoken") != cookie:
            return Answer(403, [], b"CSRF token missing")
        return await super().endpoint(request)


@unusual("FormLogin")
class FormLogin(Backend):
    options = {"login": "form", "login_b": "form_b", "logout_url": "{base}/logout", "whoami": "{base}/me"}


@unusual("Everything")
class Everything(Backend):
    options = {"whoami": "{base}/me", "page_url": "{base}/page", "logout_url": "{base}/logout"}

    async def handle(self, request: Request) -> Answer:
        if request.path == "/page":
            return Answer(200, [("Content-Type", "text/html")], b'<script src="/nowhere.js"></script>')
        return await super().handle(request)


@unusual("QueryInAddress")
class QueryInAddress(Backend):
    options = {"url": "{base}/chat/token?route=chat%2Ftoken&v=1"}

    async def endpoint(self, request: Request) -> Answer:
        if unquote(request.query.get("route", "")) != "chat/token":
            return Answer(404)
        return await super().endpoint(request)


@unusual("StrictQuery")
class StrictQuery(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return self.refusal(400, "no query, please") if request.query else await super().endpoint(request)


@unusual("SignedCookie")
class SignedCookie(Backend):
    """Keeps the session in a JWT, and verifies it."""

    options = {"login": "jwt", "login_b": None}

    def person(self, request: Request, body: Any) -> Claims | None:
        segments, _, signature = request.cookies.get("sid", "").rpartition(".")
        if not segments or signature != b64(hs256(b"session key", segments.encode())):
            return None
        who = json.loads(base64.urlsafe_b64decode(f"{segments.partition('.')[2]}===")).get("who")
        request.headers["cookie"] = f"sid={dict(zip(self.sessions.values(), self.sessions, strict=True))[who]}"
        return super().person(request, body)
