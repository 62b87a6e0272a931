"""Endpoints that are wrong for some callers only: another person, a visitor, whoever comes after somebody else."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from mutant_backend import BROKEN, Backend, Claims, compact, register, with_claims, without
from mutant_server import Answer, Request

broken = register(BROKEN)


# what is wrong with the second login alone


def for_bo(name: str, change: Any) -> None:
    """Keep a backend whose claims are changed for one of two persons."""
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
    """Writes claims in Latin-1, which shows on names that are not ASCII."""

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


# whoever comes after somebody else


class Remembers(Backend):
    """Keeps tokens."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: dict[Any, Any] = {}


class OneBrowser(Remembers):
    """Keeps the session where somebody else logs in at the same browser."""

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
    """Keeps the last token in the session, and gives it again for the same jkt."""

    def answer(self, request: Request, token: Any) -> Answer:
        if token is None:
            return super().answer(request, None)
        session, jkt = request.cookies[self.cookie], self.jkt(request, self.parsed(request))
        if self.kept.get(session, ("", ""))[0] != jkt:
            self.kept[session] = (jkt, token)
        return super().answer(request, self.kept[session][1])


@broken("person-kept-in-session")
class PersonKept(OneBrowser):
    """Remembers in the session who asked first."""

    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        if person is None or request.path != self.path:
            return person
        return dict(self.kept.setdefault(request.cookies[self.cookie], person))


# visitors


@broken("visitors-429")
class Visitors429(Backend):
    """Counts visitors together, and members each by themselves."""

    def answer(self, request: Request, token: Any) -> Answer:
        return super().answer(request, token) if token else self.json(429, {"error": "too many"})


@broken("visitors-see-last-token")
class VisitorsSeeLastToken(Remembers):
    def answer(self, request: Request, token: Any) -> Answer:
        self.kept["last"] = token or self.kept.get("last")
        return self.json(200, {"token": token, "debug": None if token else self.kept["last"]})


# nobody is answered, or not by this method


@broken("visitors-hang")
class VisitorsHang(Backend):
    options = {"timeout": 0.3}

    def answer(self, request: Request, token: Any) -> Answer:
        answer = super().answer(request, token)
        return answer if token else Answer(raw=b"HTTP/1.1 200 O", drips=b"K")
