"""Endpoints that answer only some callers incorrectly: a second person, a visitor, or the next caller."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any
from urllib.parse import parse_qs

from tests.check.mutants.mutant_backend import (
    BROKEN,
    PEOPLE,
    Backend,
    Claims,
    compact,
    register,
    with_answer,
    with_claims,
    without,
)
from tests.check.mutants.mutant_server import Answer, Request

broken = register(BROKEN)


# wrong for the second login only


def for_bo(name: str, change: Any) -> None:
    """Register a backend that changes only the claims of Bo."""
    with_claims(BROKEN, name, lambda claims: change(claims) if claims["name"] == "Bo Okafor" else claims)


for_bo("second-login-no-cnf", lambda claims: without(claims, "cnf"))
for_bo("second-login-no-iat", lambda claims: without(claims, "iat"))
for_bo("second-login-nbf", lambda claims: {**claims, "nbf": claims["iat"] + 900})
for_bo("second-login-exp-text", lambda claims: {**claims, "exp": str(claims["exp"])})
for_bo("second-login-exp-ms", lambda claims: {**claims, "exp": claims["exp"] * 1000})
for_bo("second-login-old-iat", lambda claims: {**claims, "iat": claims["iat"] - 86_400})
for_bo("second-login-avatar", lambda claims: {**claims, "avatar": "/media/bo.png"})
for_bo("second-login-name", lambda claims: {**claims, "name": "undefined"})
for_bo("second-login-hash", lambda claims: {**claims, "password_hash": "5f4dcc3b5aa765d61d8327deb882cf99"})
for_bo("second-login-uid-email", lambda claims: {**claims, "uid": claims["email"]})
for_bo("second-login-uid-social", lambda claims: {**claims, "uid": f"google:{claims['uid']}"})
for_bo("second-login-large", lambda claims: {**claims, "roles": [f"role-{number:03}" for number in range(400)]})


@broken("second-login-latin1")
class SecondLoginLatin1(Backend):
    """Encodes claims in Latin-1, which breaks names that are not ASCII."""

    def payload(self, claims: Claims) -> bytes:
        return compact({**claims, "name": "Bö"} if claims["name"] == "Bo Okafor" else claims).decode().encode("latin-1")


@broken("second-login-prefix")
class SecondLoginPrefix(Backend):
    def token(self, person: Claims, jkt: Any) -> Any:
        token = super().token(person, jkt)
        return f"Bearer {token}" if person["name"] == "Bo Okafor" else token


@broken("second-login-header")
class SecondLoginHeader(Backend):
    def token(self, person: Claims, jkt: Any) -> Any:
        more = {"zip": "DEF"} if person["name"] == "Bo Okafor" else {}
        return self.signed({**self.header(), **more}, self.claims(person, jkt))


# callers who come after somebody else


class Remembers(Backend):
    """Stores tokens between calls."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: dict[Any, Any] = {}


class OneBrowser(Remembers):
    """Keeps the session when another person logs in with the same browser."""

    options = {"login": "form", "login_b": "form_b"}

    def login(self, request: Request) -> Answer:
        answer = super().login(request)
        here = request.cookies.get(self.cookie, "")
        if answer.status != 303 or here not in self.sessions:
            return answer
        sent = parse_qs(request.body.decode())
        self.sessions[here] = sent["user"][0]
        return answer.set("Set-Cookie", self.set_cookie(here))


@broken("kept-over-change-of-person")
class KeptOverChange(OneBrowser):
    """Stores the last token in the session, and returns the same token again for the same jkt."""

    def answer(self, request: Request, token: Any) -> Answer:
        if token is None:
            return super().answer(request, None)
        session, jkt = request.cookies[self.cookie], self.jkt(request, self.parsed(request))
        if self.kept.get(session, ("", ""))[0] != jkt:
            self.kept[session] = (jkt, token)
        return super().answer(request, self.kept[session][1])


@broken("person-kept-in-session")
class PersonKept(OneBrowser):
    """Stores the first caller in the session, and never updates this entry."""

    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        if person is None or request.path != self.path:
            return person
        return dict(self.kept.setdefault(request.cookies[self.cookie], person))


@broken("kept-without-case")
class KeptWithoutCase(Remembers):
    """Stores tokens in a table whose keys ignore letter case."""

    def token(self, person: Claims, jkt: Any) -> Any:
        return self.kept.setdefault((person["uid"], jkt.lower()), super().token(person, jkt))


@broken("shared-name")
class SharedName(Remembers):
    """Stores the person's name in a variable that all requests share."""

    async def endpoint(self, request: Request) -> Answer:
        person = self.person(request, None)
        if person:
            self.kept["name"] = person["name"]
        await asyncio.sleep(0.02)
        return await super().endpoint(request)

    def claims(self, person: Claims, jkt: Any) -> Claims:
        return {**super().claims(person, jkt), "name": self.kept["name"]}


# visitors


@broken("visitors-429")
class Visitors429(Backend):
    """Applies one rate limit to all visitors together, and a separate rate limit to each member."""

    def answer(self, request: Request, token: Any) -> Answer:
        return super().answer(request, token) if token else self.json(429, {"error": "too many"})


@broken("visitors-see-last-token")
class VisitorsSeeLastToken(Remembers):
    def answer(self, request: Request, token: Any) -> Answer:
        self.kept["last"] = token or self.kept.get("last")
        return self.json(200, {"token": token, "debug": None if token else self.kept["last"]})


with_answer(
    BROKEN,
    "visitors-kept",
    lambda answer, token: answer if token else answer.set("Cache-Control", "public, max-age=600"),
)


@broken("visitors-by-address")
class VisitorsByAddress(Remembers):
    """Identifies people by IP address. A visitor is treated as the last member who called from the same address."""

    def person(self, request: Request, body: Any) -> Claims | None:
        self.kept["here"] = super().person(request, body) or self.kept.get("here")
        return dict(self.kept["here"]) if self.kept["here"] else None


# identities taken from the request


class Named(Backend):
    """Takes the identity from the request instead of the session."""

    def named(self, request: Request, body: Any) -> str:
        """Return the uid in the request, or an empty string."""
        return ""

    def person(self, request: Request, body: Any) -> Claims | None:
        named = self.named(request, body)
        return next((dict(one) for one in PEOPLE.values() if one["uid"] == named), super().person(request, body))


@broken("user-object-in-body")
class UserObject(Named):
    def named(self, request: Request, body: Any) -> str:
        user = body.get("user") if isinstance(body, dict) else None
        return str(user.get("id")) if isinstance(user, dict) else ""


@broken("uid-as-bearer")
class UidAsBearer(Named):
    def named(self, request: Request, body: Any) -> str:
        return request.headers.get("authorization", "").removeprefix("Bearer ")


@broken("basic-without-password")
class BasicWithoutPassword(Named):
    def named(self, request: Request, body: Any) -> str:
        kind, _, credential = request.headers.get("authorization", "").partition(" ")
        return base64.b64decode(credential).decode().partition(":")[0] if kind == "Basic" else ""


def from_body(name: str, claim: str) -> None:
    """Register a backend that takes a claim from the request body."""

    class FromBody(Backend):
        def person(self, request: Request, body: Any) -> Claims | None:
            person = super().person(request, body)
            return {**person, claim: body[claim]} if person and isinstance(body, dict) and claim in body else person

    broken(name)(FromBody)


from_body("avatar-from-body", "avatar")
from_body("pid-from-body", "pid")
from_body("exp-from-body", "exp")


@broken("name-of-profile-in-body")
class NameOfProfile(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        profile = body.get("profile") if isinstance(body, dict) else None
        return {**person, "name": profile.get("name")} if person and isinstance(profile, dict) else person


# other methods


def by_method(name: str, method: str) -> None:
    """Register a backend that also returns tokens for another HTTP method."""

    class ByMethod(Backend):
        async def endpoint(self, request: Request) -> Answer:
            person = self.person(request, None)
            if request.method != method or person is None:
                return await super().endpoint(request)
            jkt = request.query.get("jkt") or json.loads(request.body)["jkt"]
            return self.by(self.token(person, jkt))

        def by(self, token: Any) -> Answer:
            return self.json(200, {"token": token})

    broken(name)(ByMethod)


by_method("patch-mints", "PATCH")
by_method("delete-mints", "DELETE")
by_method("options-mints", "OPTIONS")


@broken("head-mints")
class HeadMints(Backend):
    async def endpoint(self, request: Request) -> Answer:
        person = self.person(request, None)
        if request.method != "HEAD" or person is None:
            return await super().endpoint(request)
        return Answer(200, [("X-Chat-Token", self.token(person, request.query.get("jkt")))])


# no answer for visitors or for some methods


@broken("visitors-hang")
class VisitorsHang(Backend):
    options = {"timeout": 1.0}

    def answer(self, request: Request, token: Any) -> Answer:
        answer = super().answer(request, token)
        return answer if token else Answer(raw=b"HTTP/1.1 200 O", drips=b"K")


@broken("get-hangs")
class GetHangs(Backend):
    options = {"timeout": 1.0}

    async def endpoint(self, request: Request) -> Answer:
        return Answer(raw=b"HTTP/1.1 200 O", drips=b"K") if request.method == "GET" else await super().endpoint(request)
