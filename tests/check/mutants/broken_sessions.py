"""Endpoints that accept forged sessions, or read the session from the wrong place."""

from __future__ import annotations

import base64
import json
from email.utils import formatdate
from typing import Any

from tests.check.mutants.mutant_backend import (
    BROKEN,
    PEOPLE,
    SECRET,
    Backend,
    Claims,
    b64,
    hs256,
    register,
    with_answer,
)
from tests.check.mutants.mutant_server import Answer, Request

broken = register(BROKEN)
BY_UID = {claims["uid"]: name for name, claims in PEOPLE.items()}


@broken("uid-from-cookie")
class UidFromCookie(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        found = super().person(request, body)
        named = request.cookies.get("user_id")
        return {**found, "uid": named} if found and named else found


class Named(Backend):
    """Uses the uid as the session."""

    def person(self, request: Request, body: Any) -> Claims | None:
        name = BY_UID.get(self.read(request.cookies.get("sid", "")))
        return dict(PEOPLE[name]) if name else None

    def read(self, value: str) -> str:
        return value


@broken("session-is-uid")
class SessionIsUid(Named):
    options = {"login": "uid", "login_b": "uid_b"}


@broken("session-is-uid-base64")
class SessionIsUidBase64(Named):
    options = {"login": "uid_base64", "login_b": None}

    def read(self, value: str) -> str:
        try:
            return base64.b64decode(value).decode()
        except ValueError:
            return ""


@broken("session-in-query")
class SessionInQuery(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        name = self.sessions.get(request.cookies.get("sid") or request.query.get("sid", ""))
        return dict(PEOPLE[name]) if name else None


class TokenLogsIn(Backend):
    """Accepts a chat token of the endpoint in place of a login."""

    def person(self, request: Request, body: Any) -> Claims | None:
        return super().person(request, body) or self.signed_by_us(self.offered(request))

    def offered(self, request: Request) -> str:
        """Return the part of the request that may be a token."""
        return request.headers.get("authorization", "").removeprefix("Bearer ")

    def signed_by_us(self, token: str) -> Claims | None:
        """Return the person in a token, or None if the signature of the token is invalid."""
        signed, _, signature = token.rpartition(".")
        if not signed or signature != b64(hs256(SECRET.encode(), signed.encode())):
            return None
        payload = signed.partition(".")[2]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return dict(PEOPLE[BY_UID[claims["uid"]]])


broken("token-logs-in-by-header")(TokenLogsIn)


@broken("token-logs-in-by-cookie")
class TokenLogsInByCookie(TokenLogsIn):
    def offered(self, request: Request) -> str:
        return request.cookies.get("sid", "")


@broken("token-logs-in-elsewhere")
class TokenLogsInElsewhere(TokenLogsIn):
    options = {"whoami": "{base}/me"}

    def person(self, request: Request, body: Any) -> Claims | None:
        return super().person(request, body) if request.path == "/me" else Backend.person(self, request, body)


# bodies that make a handler crash


class Crashes(Backend):
    """Answers 500 if the method `careless` raises an exception."""

    async def endpoint(self, request: Request) -> Answer:
        try:
            self.careless(request.body)
        except (ValueError, RecursionError):
            return Answer(500, [], b"Internal Server Error")
        return await super().endpoint(request)

    def careless(self, body: bytes) -> None:
        """Read the body in a way that fails for some bodies."""


def careless(name: str, act: Any) -> None:
    """Register a backend that calls `act` with every body, and does not handle exceptions of `act`."""

    class Careless(Crashes):
        def careless(self, body: bytes) -> None:
            act(body)

    broken(name)(Careless)


def _jkt(body: bytes) -> str:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    jkt = found.get("jkt") if isinstance(found, dict) else None
    return jkt if isinstance(jkt, str) else ""


def _parsed_if_json(body: bytes) -> None:
    try:
        json.loads(body)
    except ValueError:
        return


careless("crash-not-ascii", lambda body: _jkt(body).encode("latin-1", "surrogatepass"))
careless("crash-surrogate", lambda body: _jkt(body).encode())
careless("crash-not-utf8", lambda body: body.decode())
careless("crash-deep-json", _parsed_if_json)


@broken("fails-for-good")
class FailsForGood(Backend):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.first = 0.0

    async def endpoint(self, request: Request) -> Answer:
        self.first = self.first or self.clock.now()
        if self.clock.now() - self.first > 1 and request.cookies:
            return Answer(500, [], b"connection pool exhausted")
        return await super().endpoint(request)


# effects of an answer on the session


with_answer(BROKEN, "clears-cookies", lambda answer, _: answer.set("Clear-Site-Data", '"cache", "cookies"'))
with_answer(BROKEN, "clears-storage", lambda answer, _: answer.set("Clear-Site-Data", '"storage"'))


@broken("session-used-up")
class SessionUsedUp(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        self.sessions.pop(request.cookies.get("sid", ""), None)
        return super().answer(request, token)


@broken("session-replaced")
class SessionReplaced(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        return super().answer(request, token).add("Set-Cookie", f"sid=s-{self.calls:016}; Path=/; HttpOnly")


@broken("session-cookie-dated-back")
class SessionCookieDatedBack(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        yesterday = formatdate(self.clock.now() - 86_400, usegmt=True)
        return super().answer(request, token).add("Set-Cookie", f"sid=deleted; Path=/; Expires={yesterday}")


@broken("crashes-after-logout")
class CrashesAfterLogout(Backend):
    options = {"logout_url": "{base}/logout"}

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ended: set[str] = set()

    def logout(self, request: Request) -> Answer:
        self.ended.add(request.cookies.get("sid", ""))
        return super().logout(request)

    async def endpoint(self, request: Request) -> Answer:
        if request.cookies.get("sid") in self.ended:
            return Answer(500, [], b"Internal Server Error")
        return await super().endpoint(request)


@broken("session-by-beginning")
class SessionByBeginning(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        begin = request.cookies.get("sid") or "nobody"
        found = next((name for session, name in self.sessions.items() if session.startswith(begin)), None)
        return dict(PEOPLE[found]) if found else None


@broken("session-in-sql")
class SessionInSql(Backend):
    async def endpoint(self, request: Request) -> Answer:
        if "'" in request.cookies.get("sid", ""):
            return Answer(500, [("Content-Type", "text/plain")], b'unterminated quoted string at or near "\'"')
        return await super().endpoint(request)
