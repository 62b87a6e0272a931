"""Correct endpoints with unusual answers and connections."""

from __future__ import annotations

import asyncio
import gzip
import secrets
import zlib
from email.utils import formatdate
from typing import Any

from tests.check.mutants.http2_server import SETTINGS
from tests.check.mutants.mutant_backend import (
    UNUSUAL,
    Backend,
    register,
    with_answer,
)
from tests.check.mutants.mutant_server import Answer, Request

from chatkey_check.calls.shared import PARALLEL
from chatkey_stack.patience import PATIENCE

unusual = register(UNUSUAL)


def with_body(name: str, change: Any) -> None:
    """Register a backend that changes the bytes of the answers."""

    def changed(answer: Answer, _: str | None) -> Answer:
        answer.body = change(answer.body)
        return answer

    with_answer(UNUSUAL, name, changed)


@unusual("OnlyHttp2")
class OnlyHttp2(Backend):
    async def handle(self, request: Request) -> Answer:
        return await super().handle(request) if request.http2 else Answer(raw=SETTINGS)


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
    """Redirects every call with 307, which keeps method and body. The checker may warn."""

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
    """Answers every GET with the page of a single-page application."""

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
    """Closes the connection after each answer without announcing this."""

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
    """Sends interim responses before the final response."""

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
    """Takes four seconds for the first call, as if the site were compiling."""

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
    """Accepts four simultaneous calls, and answers further ones with 429 and `Retry-After`."""

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


@unusual("DropsOtherCookie")
class DropsOtherCookie(Backend):
    """Deletes a cookie that has nothing to do with the session."""

    options = {"login": "with_hint"}

    def answer(self, request: Request, token: Any) -> Answer:
        return super().answer(request, token).add("Set-Cookie", "hint=; Path=/; Max-Age=0")


@unusual("DropsBursts")
class DropsBursts(Backend):
    """Accepts eight simultaneous calls, and closes further connections without an answer."""

    busy = 0

    async def endpoint(self, request: Request) -> Answer:
        self.busy += 1
        try:
            await asyncio.sleep(0.003)
            return Answer(raw=b"") if self.busy > 8 else await super().endpoint(request)
        finally:
            self.busy -= 1


HALF = PARALLEL // 2


@unusual("LongQueue")
class LongQueue(Backend):
    """Handles some calls at a time. If more calls are waiting, the surplus calls get no answer before their timeout."""

    options = {"timeout": PATIENCE / 2}

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.waiting = 0

    async def endpoint(self, request: Request) -> Answer:
        self.waiting += 1
        try:
            await asyncio.sleep(PATIENCE if self.waiting > HALF else 0.01)
            return await super().endpoint(request)
        finally:
            self.waiting -= 1


@unusual("LimitsRate")
class LimitsRate(Backend):
    """After forty calls, answers one call with 429 and a `Retry-After` of one second."""

    left = 40

    async def endpoint(self, request: Request) -> Answer:
        if self.left == 0:
            self.left = 40
            return Answer(429, [("Retry-After", "1")])
        self.left -= 1
        return await super().endpoint(request)


@unusual("LimitsRateByDate")
class LimitsRateByDate(LimitsRate):
    """Sends a date in `Retry-After`."""

    async def endpoint(self, request: Request) -> Answer:
        answer = await super().endpoint(request)
        again = formatdate(self.clock.now() + 2, usegmt=True)
        return answer.set("Retry-After", again) if answer.status == 429 else answer


@unusual("LimitsForAnHour")
class LimitsForAnHour(Backend):
    """After ten calls, answers with 429 and a `Retry-After` of one hour."""

    async def endpoint(self, request: Request) -> Answer:
        return Answer(429, [("Retry-After", "3600")]) if self.calls > 10 else await super().endpoint(request)


@unusual("LimitsWithoutAWord")
class LimitsWithoutAWord(Backend):
    """After twenty calls, answers with 429 and no `Retry-After`."""

    async def endpoint(self, request: Request) -> Answer:
        return Answer(429) if self.calls > 20 else await super().endpoint(request)


LIMITED_BY_NGINX = Answer(
    503,
    [("Content-Type", "text/html")],
    b"<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n"
    b"<center><h1>503 Service Temporarily Unavailable</h1></center>\r\n<hr><center>nginx/1.26.2</center>\r\n",
)


@unusual("NginxLimitsRate")
class NginxLimitsRate(Backend):
    """Is behind `limit_req` with 20 calls a second and a burst of 40, without `limit_req_status`."""

    rate, burst = 20.0, 40.0
    excess = last = 0.0
    refusal_page = LIMITED_BY_NGINX

    async def endpoint(self, request: Request) -> Answer:
        now = self.clock.now()
        excess = max(0.0, self.excess - (now - self.last) * self.rate) + 1
        if excess > self.burst:
            return self.refusal_page
        self.excess, self.last = excess, now
        return await super().endpoint(request)


@unusual("NginxLimitsRateAs429")
class NginxLimitsRateAs429(NginxLimitsRate):
    """Sets `limit_req_status` to 429, and sends no `Retry-After`."""

    refusal_page = Answer(429, [("Content-Type", "text/html")], b"<h1>429 Too Many Requests</h1>")


@unusual("NginxLimitUsedUp")
class NginxLimitUsedUp(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return LIMITED_BY_NGINX


@unusual("RefusesByRedirect")
class RefusesByRedirect(Backend):
    def refusal(self, status: int, error: str) -> Answer:
        return Answer(303, [("Location", f"/error/{status}")])


@unusual("DevelopmentCors")
class DevelopmentCors(Backend):
    async def endpoint(self, request: Request) -> Answer:
        answer, origin = await super().endpoint(request), request.headers.get("origin", "")
        own = origin in {"http://localhost:3000", "http://localhost:5173"}
        return answer.add("Access-Control-Allow-Origin", origin) if own else answer


with_answer(
    UNUSUAL,
    "VisitorsMayBeAsked",
    lambda answer, token: answer if token else answer.set("Cache-Control", "private, no-cache, max-age=60"),
)
