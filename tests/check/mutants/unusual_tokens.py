"""Correct endpoints with unusual tokens, which the checker must accept."""

from __future__ import annotations

import json
import secrets
from typing import Any

from tests.check.mutants.mutant_backend import (
    UNUSUAL,
    Backend,
    Claims,
    register,
    with_claims,
)
from tests.check.mutants.mutant_server import Answer, Request

unusual = register(UNUSUAL)

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
    """Caches tokens for each pair of user and jkt, so that a browser may get a token that is four minutes old."""

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
    """Sends a `Date` in 1970, like a proxy with a wrong clock. The tokens are correct."""

    def dated(self, answer: Answer) -> Answer:
        answer.date = 0.0
        return answer


class Rounded(Backend):
    """Rounds iat and exp down to a multiple of `to` seconds."""

    to = 5

    def claims(self, person: Claims, jkt: Any) -> Claims:
        rounded = int(self.clock.now()) // self.to * self.to
        return {**super().claims(person, jkt), "iat": rounded, "exp": rounded + 3600}


@unusual("RoundedFive")
class RoundedFive(Rounded):
    pass


@unusual("RoundedTen")
class RoundedTen(Rounded):
    to = 10


@unusual("RoundedHalfMinute")
class RoundedHalfMinute(Rounded):
    to = 30


with_claims(UNUSUAL, "BracedUid", lambda claims: {**claims, "uid": f"{{5f0c6a2e-8a2b-4b60-{claims['uid']}}}"})
with_claims(UNUSUAL, "AngledUid", lambda claims: {**claims, "uid": f"<{claims['uid']}>"})
with_claims(UNUSUAL, "EmptyEmail", lambda claims: {**claims, "email": ""})
with_claims(UNUSUAL, "Passes", lambda c: {**c, "season_pass": "gold", "pin_code": "560001", "card_last4": "4242"})
with_claims(UNUSUAL, "RightToLeft", lambda claims: {**claims, "name": "\u200fرنو\u200f"})
with_claims(UNUSUAL, "SignedAvatar", lambda c: {**c, "avatar": "https://cdn.example/a?X-Amz-Security-Token=IQoJb3J"})


@unusual("Trims")
class Trims(Backend):
    """Strips white space from the jkt before validating it."""

    def jkt(self, request: Request, body: Any) -> Any:
        sent = super().jkt(request, body)
        return sent.strip() if isinstance(sent, str) else sent


ABOUT_PASSWORDS = {"password_strength": "good", "password_policy": "2024-01", "tax_id_type": "eu_vat"}
with_claims(UNUSUAL, "AboutPasswords", lambda claims: {**claims, **ABOUT_PASSWORDS})
with_claims(UNUSUAL, "NamesWithSigns", lambda claims: {**claims, "name": "Conan O'Brien & Söhne <3 {A$AP; 100%}"})
