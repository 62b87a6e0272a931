"""Correct endpoints with unusual logins and addresses."""

from __future__ import annotations

import base64
import json
import secrets
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.check.mutants.mutant_backend import (
    PEOPLE,
    UNUSUAL,
    Backend,
    Claims,
    b64,
    hs256,
    register,
    signed_uid,
    with_answer,
)
from tests.check.mutants.mutant_server import Answer, Request

unusual = register(UNUSUAL)


class Rotating(Backend):
    """Sets a new session cookie with every answer."""

    def keeps(self, session: str) -> None:
        """Keep the old session valid. Subclasses may end the old session."""

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
    """Sets two cookies in one answer. Neither has anything to do with the session."""

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
    """If the caller has a certain cookie, requires the value of this cookie in a header."""

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
    """Keeps the session in a JWT, and verifies the signature."""

    options = {"login": "jwt", "login_b": None}

    def person(self, request: Request, body: Any) -> Claims | None:
        segments, _, signature = request.cookies.get("sid", "").rpartition(".")
        if not segments or signature != b64(hs256(b"session key", segments.encode())):
            return None
        who = json.loads(base64.urlsafe_b64decode(f"{segments.partition('.')[2]}===")).get("who")
        request.headers["cookie"] = f"sid={dict(zip(self.sessions.values(), self.sessions, strict=True))[who]}"
        return super().person(request, body)


class OwnLogin(Backend):
    """Has a login page at `/login`. Subclasses have the forms of different kinds of sites."""

    options = {"login": "form", "login_b": "form_b"}
    form = '<form method="post"><input name="user"><input type="password" name="password"></form>'

    def login(self, request: Request) -> Answer:
        return self.entered(request) if request.method == "POST" else self.shown(request)

    def shown(self, request: Request) -> Answer:
        return Answer(200, [("Content-Type", "text/html")], self.form.encode())

    def fields(self, request: Request) -> Claims:
        return {name: values[0] for name, values in parse_qs(request.body.decode()).items()}

    def entered(self, request: Request) -> Answer:
        """Start a session if the password is correct. Otherwise show the form again."""
        sent = self.fields(request)
        if sent.get("user") not in PEOPLE or sent.get("password") != "hunter-2":
            return self.shown(request)
        return Answer(303, [("Location", "/"), ("Set-Cookie", self.set_cookie(self.begun(sent["user"])))])

    def begun(self, user: str) -> str:
        session = f"s-{len(self.sessions):02}-{user}-5d1f0c"
        self.sessions[session] = user
        return session


@unusual("LoginKeepsCookie")
class LoginKeepsCookie(OwnLogin):
    """Gives visitors a session too, and stores the login in this session, as PHP and express-session do."""

    def shown(self, request: Request) -> Answer:
        page = super().shown(request)
        fresh = f"s-visitor-{secrets.token_hex(8)}"
        return page if "sid" in request.cookies else page.add("Set-Cookie", self.set_cookie(fresh))

    def entered(self, request: Request) -> Answer:
        fields = self.fields(request)
        self.sessions[request.cookies.get("sid", "")] = str(fields["user"])
        return Answer(303, [("Location", "/")])


@unusual("LoginActionElsewhere")
class LoginActionElsewhere(OwnLogin):
    """The login form posts to another address. The page has a search form before the login form."""

    forms = frozenset({"/me"})
    form = f'<form action="/search"><input name="q"></form>{OwnLogin.form.replace("<form", "<form action=me")}'

    def me(self, request: Request) -> Answer:
        return self.entered(request) if request.method == "POST" else super().me(request)

    def login(self, request: Request) -> Answer:
        return self.missing(request) if request.method == "POST" else self.shown(request)


@unusual("LoginBehindSlash")
class LoginBehindSlash(OwnLogin):
    """Redirects `/login` to `/login/`."""

    forms = frozenset({"/login/"})

    async def handle(self, request: Request) -> Answer:
        if request.path == "/login/":
            return self.dated(self.login(request))
        return await super().handle(request)

    def login(self, request: Request) -> Answer:
        if request.path == "/login":
            return Answer(301, [("Location", f"/{type(self).__name__}/login/")])
        return super().login(request)


class JsonLogin(OwnLogin):
    """Accepts logins as JSON, and has no login page."""

    def shown(self, request: Request) -> Answer:
        return self.json(405 if request.method == "GET" else 401, {"error": "no"})

    def fields(self, request: Request) -> Claims:
        return json.loads(request.body) if request.headers.get("content-type") == "application/json" else {}


@unusual("LoginByJson")
class LoginByJson(JsonLogin): ...


@unusual("LoginOfScript")
class LoginOfScript(JsonLogin):
    """Has a login page whose script sends the form as JSON, with a token from a meta element."""

    def shown(self, request: Request) -> Answer:
        if request.method != "GET":
            return self.json(422, {"error": "no"})
        page = f'<meta name="csrf-token" content="c-77">{OwnLogin.form}'
        return Answer(200, [("Content-Type", "text/html")], page.encode())

    def fields(self, request: Request) -> Claims:
        return super().fields(request) if request.headers.get("x-csrf-token") == "c-77" else {}


@unusual("CallWithMeta")
class CallWithMeta(OwnLogin):
    """Requires a token from the page with every call of a member."""

    options = {**OwnLogin.options, "headers": (("X-CSRF-Token", "{meta:csrf-token}"),)}
    form = f'<meta name="csrf-token" content="c-78">{OwnLogin.form}'

    async def endpoint(self, request: Request) -> Answer:
        if request.headers.get("x-csrf-token") != "c-78" and request.cookies:
            return self.refusal(419, "CSRF token mismatch")
        return await super().endpoint(request)


@unusual("CallWithXsrfCookie")
class CallWithXsrfCookie(OwnLogin):
    """Sets a token in an encoded cookie, and requires the decoded token in a header, as Laravel does."""

    options = {**OwnLogin.options, "headers": (("X-XSRF-TOKEN", "{cookie:XSRF-TOKEN}"),)}

    def entered(self, request: Request) -> Answer:
        return super().entered(request).add("Set-Cookie", "XSRF-TOKEN=c%2B79%3D%3D; Path=/; SameSite=Lax")

    async def endpoint(self, request: Request) -> Answer:
        if request.headers.get("x-xsrf-token") != "c+79==" and request.cookies:
            return self.refusal(419, "CSRF token mismatch")
        return await super().endpoint(request)


@unusual("ReadableUid")
class ReadableUid(Backend):
    options = {"login": "with_uid", "login_b": None}


@unusual("SignedUid")
class SignedUid(Backend):
    options = {"login": "signed_uid", "login_b": None}

    def person(self, request: Request, body: Any) -> Claims | None:
        uid, _, _ = request.cookies.get("sid", "").partition(".")
        found = next((claims for claims in PEOPLE.values() if claims["uid"] == uid), None)
        return dict(found) if found and request.cookies["sid"] == signed_uid(uid) else None


with_answer(UNUSUAL, "DropsCookieOfOldPath", lambda answer, _: answer.add("Set-Cookie", "sid=; Path=/old; Max-Age=0"))
with_answer(
    UNUSUAL, "DropsCookieOfOldHost", lambda answer, _: answer.add("Set-Cookie", "sid=; Domain=old.example; Max-Age=0")
)


@unusual("CookieOfAddress")
class CookieOfAddress(Backend):
    options = {"login": "with_address"}


@unusual("CookieOfTimeZone")
class CookieOfTimeZone(Backend):
    options = {"login": "with_zone"}

    def claims(self, person: Claims, jkt: Any) -> Claims:
        return {**super().claims(person, jkt), "zoneinfo": "Europe/Stockholm"}


@unusual("LogoutWithCsrf")
class LogoutWithCsrf(Backend):
    options = {"logout_url": "{base}/logout"}

    def logout(self, request: Request) -> Answer:
        return super().logout(request) if request.method == "GET" else Answer(403, [], b"CSRF token missing")


@unusual("KnowsOneSession")
class KnowsOneSession(Backend):
    """When a person logs in, ends all other sessions of that person."""

    options = {"login": "form", "login_b": "form_b", "logout_url": "{base}/logout"}

    def login(self, request: Request) -> Answer:
        before = dict(self.sessions)
        answer = super().login(request)
        for fresh in self.sessions.keys() - before.keys():
            for old in [old for old, person in before.items() if person == self.sessions[fresh]]:
                del self.sessions[old]
        return answer

    def set_cookie(self, session: str) -> str:
        self.sessions[fresh := f"s-{secrets.token_hex(8)}"] = self.sessions.pop(session)
        return super().set_cookie(fresh)


@unusual("SwitchesAtOneBrowser")
class SwitchesAtOneBrowser(Backend):
    """Keeps the session when another person logs in with the same browser, but stores the new person in the session."""

    options = {"login": "form", "login_b": "form_b", "logout_url": "{base}/logout"}

    def login(self, request: Request) -> Answer:
        answer = super().login(request)
        here = request.cookies.get(self.cookie, "")
        if answer.status != 303 or here not in self.sessions:
            return answer
        self.sessions[here] = parse_qs(request.body.decode())["user"][0]
        return answer.set("Set-Cookie", self.set_cookie(here))


@unusual("NobodyTwice")
class NobodyTwice(Backend):
    """Redirects people who are already logged in away from the login form."""

    options = {"login": "form", "login_b": "form_b", "logout_url": "{base}/logout"}

    def login(self, request: Request) -> Answer:
        if request.cookies.get(self.cookie, "") in self.sessions:
            return Answer(303, [("Location", "/")])
        return super().login(request)


@unusual("InOnce")
class InOnce(Backend):
    """Refuses the login of a person who is logged in elsewhere."""

    options = {"login": "form", "login_b": "form_b", "logout_url": "{base}/logout"}

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sessions.clear()

    def login(self, request: Request) -> Answer:
        if request.method != "POST":
            return super().login(request)
        here = request.cookies.get(self.cookie, "")
        user = parse_qs(request.body.decode()).get("user", [""])[0]
        if any(person == user for session, person in self.sessions.items() if session != here):
            return Answer(409, [], b"You are logged in elsewhere.")
        self.sessions.pop(here, None)
        return super().login(request)
