"""Endpoints that are right, with logins and addresses out of the ordinary."""

from __future__ import annotations

import base64
import json
import secrets
from typing import Any
from urllib.parse import unquote

from mutant_backend import (
    UNUSUAL,
    Backend,
    Claims,
    b64,
    hs256,
    register,
)
from mutant_server import Answer, Request

unusual = register(UNUSUAL)


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
