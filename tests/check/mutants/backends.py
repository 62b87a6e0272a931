"""Endpoints with the habits and the faults of real backends."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.check.mutants.mutant_backend import (
    BROKEN,
    PEOPLE,
    PROVIDER,
    UNUSUAL,
    Backend,
    Claims,
    register,
    with_answer,
    with_claims,
)
from tests.check.mutants.mutant_server import Answer, Request

from chatkey_check.shape import Shape

broken, unusual = register(BROKEN), register(UNUSUAL)

# claims

for name, claims in {
    "claim-otpauth": {"setup": "otpauth://totp/Shop:ada?secret=JBSWY3DPEHPK3PXP"},
    "claim-reset-link": {"link": "https://shop.example/password/reset/5d1f0c7a9b3e2046aa"},
    "claim-credentials": {"api": "Basic YWRhOmh1bnRlci0y"},
    "name-replacement": {"name": "Bj\ufffdrn"},
    "name-part-undefined": {"name": "Ada undefined"},
    "name-html": {"name": "<b>Ada</b>"},
    "NameWithNull": {"name": "Ada Null"},
    "NameWithAddress": {"name": "Ada <ada@shop.example>"},
    "LinkToProfile": {"link": "https://shop.example/members/5d1f0c7a9b3e2046aa"},
}.items():
    with_claims(BROKEN if name.islower() else UNUSUAL, name, lambda given, more=claims: {**given, **more})  # type: ignore[misc]


# whom a request names


def named(name: str, claim: str, asked: Callable[[Request, Any], str | None]) -> None:
    """Register an endpoint that takes the person from the request: the one whose claim has the value asked for."""

    class Named(Backend):
        def person(self, request: Request, body: Any) -> Claims | None:
            value = asked(request, body)
            known = next((dict(who) for who in PEOPLE.values() if who[claim] == value), None)
            return known or super().person(request, body)

    broken(name)(Named)


named("email-address-names-user", "email", lambda _, body: body.get("emailAddress"))
named("customer-number-names-user", "uid", lambda _, body: body.get("customerNumber"))
named("certificate-names-user", "uid", lambda request, _: request.headers.get("x-ssl-client-s-dn", "")[3:])


@broken("extra-cookie-null")
class ExtraCookieNull(Backend):
    """Knows nobody who has another cookie beside the session."""

    def person(self, request: Request, body: Any) -> Claims | None:
        return super().person(request, body) if request.cookies.keys() <= {"sid"} else None


@broken("pid-by-language")
class PidByLanguage(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        german = request.headers.get("accept-language", "").startswith("de")
        person = self.person(request, None) if german else None
        if person is None:
            return super().answer(request, token)
        claims = {**self.claims(person, self.jkt(request, self.parsed(request))), "pid": f"{PROVIDER}_de"}
        return super().answer(request, self.signed(self.header(), claims))


@broken("cors-dot")
class CorsDot(Backend):
    """Compares the origin with a pattern in which the dots are not escaped."""

    def answer(self, request: Request, token: Any) -> Answer:
        answer, origin = super().answer(request, token), request.headers.get("origin", "")
        allowed = re.fullmatch(f"http://{request.headers['host']}", origin)
        return answer.add("Access-Control-Allow-Origin", origin) if allowed else answer


# the format of the answer

for name, text in {
    "token-beside-null": '{{"token": null, "data": {{"token": "{}"}}}}',
    "nan-in-answer": '{{"token": "{}", "ratio": NaN}}',
}.items():
    with_answer(
        BROKEN,
        name,
        lambda answer, token, text=text: replace(answer, body=text.format(token).encode()) if token else answer,  # type: ignore[misc]
    )
with_claims(BROKEN, "exp-in-ticks", lambda claims: {**claims, "exp": claims["exp"] * 10_000_000 + 621355968000000000})


# sessions


@broken("jkt-from-cookie")
class JktFromCookie(Backend):
    """Keeps the first jkt in a cookie, and uses it from then on."""

    def jkt(self, request: Request, body: Any) -> Any:
        return request.cookies.get("jkt") or super().jkt(request, body)

    def answer(self, request: Request, token: Any) -> Answer:
        return (
            super().answer(request, token).add("Set-Cookie", f"jkt={self.jkt(request, self.parsed(request))}; Path=/")
        )


class Sinatra(Backend):
    """Starts a new session for a call from another origin. The old session stays valid."""

    async def endpoint(self, request: Request) -> Answer:
        if request.headers.get("origin") == f"http://{request.headers['host']}":
            return self.kept(request, await super().endpoint(request))
        request.headers.pop("cookie", None)
        return (await super().endpoint(request)).add("Set-Cookie", self.set_cookie(f"s-new-{secrets.token_hex(8)}"))

    def kept(self, request: Request, answer: Answer) -> Answer:
        return answer


unusual("SinatraSession")(Sinatra)


@unusual("SinatraSessionEncrypted")
class SinatraSessionEncrypted(Sinatra):
    """Encrypts the session anew for every answer."""

    def person(self, request: Request, body: Any) -> Claims | None:
        name = self.sessions.get(request.cookies.get(self.cookie, "").partition("~")[0])
        return dict(PEOPLE[name]) if name else None

    def kept(self, request: Request, answer: Answer) -> Answer:
        session = request.cookies.get(self.cookie, "").partition("~")[0]
        return answer.add("Set-Cookie", self.set_cookie(f"{session}~{secrets.token_hex(8)}")) if session else answer


class DoubleSubmit(Backend):
    """Requires a cookie's value in a header, also of visitors, who get the cookie with the page."""

    options = {
        "login": "csrf",
        "login_b": None,
        "headers": (("X-CSRFToken", "{cookie:csrftoken}"),),
        "page_url": "{base}/page",
    }

    async def handle(self, request: Request) -> Answer:
        if request.path == "/page":
            page = Answer(200, [("Content-Type", "text/html")], b"<p>Hello")
            return page.add("Set-Cookie", "csrftoken=c-9b3e204611; Path=/; SameSite=Lax")
        return await super().handle(request)

    async def endpoint(self, request: Request) -> Answer:
        return await super().endpoint(request) if self.is_ours(request) else self.json(403, {"error": "CSRF"})

    def is_ours(self, request: Request) -> bool:
        return request.headers.get("x-csrftoken", "") == request.cookies.get("csrftoken")


unusual("DoubleSubmitOfVisitors")(DoubleSubmit)


@unusual("LogoutOfDjango")
class LogoutOfDjango(DoubleSubmit):
    """Has a logout that accepts only POST with the token against forged requests."""

    options = {**DoubleSubmit.options, "logout_url": "{base}/logout"}

    def logout(self, request: Request) -> Answer:
        if request.method != "POST":
            return Answer(405)
        return super().logout(request) if self.is_ours(request) else Answer(403)


@unusual("LogoutNeedsItsForm")
class LogoutNeedsItsForm(Backend):
    """Has a logout that accepts only the token in its own form."""

    options = {"logout_url": "{base}/logout"}

    def logout(self, request: Request) -> Answer:
        return Answer(405) if request.method != "POST" else Answer(403)


# HTTP


@unusual("Refuses505")
class Refuses505(Backend):
    """Speaks only HTTP/2, and answers HTTP/1.1 with 505."""

    async def handle(self, request: Request) -> Answer:
        return await super().handle(request) if request.http2 else Answer(505)


@unusual("JsonRpc")
class JsonRpc(Backend):
    """Answers every call with 200, also a malformed one."""

    options = {
        "shape": Shape(
            body='{"jsonrpc": "2.0", "method": "chatToken", "params": {"jkt": "{jkt}"}, "id": 1}',
            token_at=("result", "token"),
        )
    }

    def jkt(self, request: Request, body: Any) -> Any:
        params = body.get("params") if isinstance(body, dict) and body.get("method") == "chatToken" else None
        return params.get("jkt") if isinstance(params, dict) else None

    def answer(self, request: Request, token: Any) -> Answer:
        return self.json(200, {"jsonrpc": "2.0", "result": {"token": token}, "id": 1})

    def refusal(self, status: int, error: str) -> Answer:
        return self.json(200, {"jsonrpc": "2.0", "error": {"code": -32000 - status, "message": error}, "id": None})
