"""Endpoints modelled on what frameworks, proxies and hosting providers do by default."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import hmac
import json
import secrets
from collections import Counter
from typing import Any

from tests.check.mutants.mutant_backend import (
    BROKEN,
    PEOPLE,
    UNUSUAL,
    Backend,
    Claims,
    b64,
    compact,
    register,
    with_answer,
    with_claims,
)
from tests.check.mutants.mutant_server import Answer, Request

broken, unusual = register(BROKEN), register(UNUSUAL)
HTML = ("Content-Type", "text/html")
JSON = ("Content-Type", "application/json")


class Workers(Backend):
    """Answers one of four calls with a worker that has an old release or other settings.

    Calls are counted for each session and origin, so that the order of other calls does not matter.
    """

    odd = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.turns: Counter[tuple[str, str]] = Counter()

    async def endpoint(self, request: Request) -> Answer:
        caller = request.headers.get("cookie", ""), request.headers.get("origin", "")
        self.turns[caller] += 1
        self.odd = self.turns[caller] % 4 == 3
        return self.of_worker(await super().endpoint(request), request) if self.odd else await super().endpoint(request)

    def of_worker(self, answer: Answer, request: Request) -> Answer:
        """Return the answer of the fourth worker."""
        return answer


def worker(name: str, change: Any, *, visitors: bool = False) -> None:
    """Register a backend whose fourth worker changes the answers to members, or to visitors."""

    class Changed(Workers):
        def of_worker(self, answer: Answer, request: Request) -> Answer:
            asked = self.right_jkt(self.jkt(request, self.parsed(request))) and request.method == "POST"
            return change(self, answer, request) if asked and bool(request.cookies) != visitors else answer

    (broken if name.islower() else unusual)(name)(Changed)


def with_jwt_of_worker(name: str, *, header: Claims | None = None, change: Any = lambda claims: claims) -> None:
    """Register a backend whose fourth worker makes other tokens."""

    class Changed(Workers):
        def header(self) -> Claims:
            return {**super().header(), **((header or {}) if self.odd else {})}

        def claims(self, person: Claims, jkt: Any) -> Claims:
            made = super().claims(person, jkt)
            return change(made) if self.odd else made

    (broken if name.islower() else unusual)(name)(Changed)


# one of four workers

worker("fourth-worker-403", lambda _self, _answer, _request: Answer(403, [HTML], b"<h1>Forbidden</h1>"))
worker("fourth-worker-lacks-route", lambda _self, _answer, _request: Answer(404, [HTML], b"<h1>Not Found</h1>"))
worker("fourth-worker-redirects", lambda _self, _answer, _request: Answer(302, [("Location", "/login")]))
worker("fourth-worker-forgets-session", lambda self, _answer, _request: self.json(200, {"token": None}))
worker("fourth-worker-cacheable", lambda _self, answer, _request: answer.set("Cache-Control", "public, max-age=60"))
worker("fourth-worker-cors", lambda _self, answer, _request: answer.add("Access-Control-Allow-Origin", "*"))
worker(
    "fourth-worker-copies-origin",
    lambda _self, answer, request: answer.add("Access-Control-Allow-Origin", request.headers.get("origin", "")),
)
worker("fourth-worker-visitors-401", lambda self, _answer, _request: self.json(401, {"token": None}), visitors=True)
worker(
    "fourth-worker-makes-guests",
    lambda self, _answer, request: self.json(
        200, {"token": self.token({"uid": "guest-1"}, self.jkt(request, self.parsed(request)))}
    ),
    visitors=True,
)
worker("fourth-worker-sends-visitors-away", lambda _self, _a, _r: Answer(302, [("Location", "/login")]), visitors=True)
worker("fourth-worker-page-for-visitors", lambda _self, _a, _r: Answer(200, [HTML], b"<h1>Welcome"), visitors=True)
worker("fourth-worker-logs-out", lambda _self, answer, _request: answer.add("Set-Cookie", "sid=; Path=/; Max-Age=0"))
with_jwt_of_worker("fourth-worker-sensitive", change=lambda claims: {**claims, "password_hash": "5f4dcc3b5aa765d61d83"})
with_jwt_of_worker("fourth-worker-hs512", header={"alg": "HS512"})
with_jwt_of_worker("fourth-worker-critical", header={"crit": ["b64"], "b64": True})
with_jwt_of_worker("fourth-worker-8h", change=lambda claims: {**claims, "exp": claims["iat"] + 8 * 3600})
with_jwt_of_worker("fourth-worker-number", change=lambda claims: {**claims, "uid": 1001})
with_jwt_of_worker("fourth-worker-float", change=lambda claims: {**claims, "exp": claims["exp"] + 0.5})
with_jwt_of_worker("fourth-worker-clock", change=lambda c: {**c, "iat": c["iat"] - 2400, "exp": c["exp"] - 2400})
worker(
    "WorkersOfTwoReleases",
    lambda _self, answer, _request: answer.set("Content-Type", "application/json; charset=utf-8").add(
        "X-Release", "42"
    ),
)
with_jwt_of_worker("WorkersClocksApart", change=lambda c: {**c, "iat": c["iat"] - 9, "exp": c["exp"] - 9})


@broken("fourth-worker-accepts-expired")
class AcceptsExpired(Workers):
    """Has one of four workers that does not look whether a session has expired."""

    options = {"must_refuse": (("Cookie", "sid=s-expired-5d1f0c"),)}

    def person(self, request: Request, body: Any) -> Claims | None:
        expired = request.cookies.get(self.cookie) == "s-expired-5d1f0c"
        return dict(PEOPLE["ada"]) if expired and self.odd else super().person(request, body)


# hosting and proxies


@broken("ingress-503")
class Ingress503(Backend):
    """Is behind an ingress of Kubernetes that has no endpoints: nginx answers 503 to every call."""

    whole_site = True

    async def handle(self, request: Request) -> Answer:
        page = b"<html><head></head><body><center><h1>503 Service Temporarily Unavailable</h1></center>"
        return self.dated(Answer(503, [HTML], page + b"<hr><center>nginx</center></body></html>"))


@broken("haproxy-503")
class Haproxy503(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(503, [HTML], b"<h1>503 Service Unavailable</h1>\nNo server is available to handle this request.")


@broken("waf-406")
class Waf406(Backend):
    """Is behind mod_security, whose rules refuse JSON."""

    async def endpoint(self, request: Request) -> Answer:
        return Answer(406, [HTML], b"<h1>Not Acceptable!</h1><p>generated by Mod_Security</p>")


def always(name: str, status: int, *headers: tuple[str, str], body: bytes = b"") -> None:
    """Register a backend that gives everybody the same answer."""
    with_answer(BROKEN, name, lambda _answer, _token: Answer(status, [*headers], body))


always("waf-page-200", 200, HTML, body=b'<html><iframe src="/_Incapsula_Resource?CWUDNSAI=9"></iframe></html>')
always("spa-fallback", 200, HTML, body=b'<!doctype html><div id="root"></div><script src="/index.js"></script>')
always("to-https", 301, ("Location", "https://127.0.0.1/chat/token"))
always("gateway-lacks-route", 403, JSON, body=compact({"message": "Missing Authentication Token"}))


@broken("gateway-envelope")
class GatewayEnvelope(Backend):
    """Is a Lambda function behind a gateway that does not unwrap its answers."""

    def answer(self, request: Request, token: Any) -> Answer:
        body = compact({"token": token}).decode()
        return self.json(200, {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": body})


@broken("hosting-strips-cookies")
class StripsCookies(Backend):
    """Is behind a hosting that passes on no cookie except `__session`."""

    options = {"whoami": "{base}/me"}

    async def handle(self, request: Request) -> Answer:
        request.headers.pop("cookie", None)
        return await super().handle(request)


@broken("cold-starts")
class ColdStarts(Backend):
    """Starts a new instance for every fifth call, which takes three seconds."""

    async def endpoint(self, request: Request) -> Answer:
        await asyncio.sleep(1.3 if self.calls % 5 == 0 else 0)
        return await super().endpoint(request)


@broken("fourth-worker-slow-for-visitors")
class SlowForVisitors(Workers):
    async def endpoint(self, request: Request) -> Answer:
        answer = await super().endpoint(request)
        await asyncio.sleep(1.3 if self.odd and not request.cookies else 0)
        return answer


@broken("debug-bar")
class DebugBar(Backend):
    """Adds the script of a development server to every answer."""

    def json(self, status: int, body: object) -> Answer:
        answer = super().json(status, body)
        answer.body += b'<script id="__bs_script__">document.write("")</script>'
        return answer


@broken("brotli-unasked")
class BrotliUnasked(Backend):
    def json(self, status: int, body: object) -> Answer:
        answer = super().json(status, body).add("Content-Encoding", "br")
        answer.body = b"\x0b\x02\x80" + answer.body + b"\x03"
        return answer


@broken("shared-cache")
class SharedCache(Backend):
    """Is behind a cache that keeps answers for two seconds, by address alone."""

    kept: tuple[float, Answer] | None = None

    async def endpoint(self, request: Request) -> Answer:
        if self.kept is None or self.clock.now() - self.kept[0] > 2:
            self.kept = self.clock.now(), await super().endpoint(request)
        status, headers, body = self.kept[1].status, self.kept[1].headers, self.kept[1].body
        return Answer(status, [*headers, ("X-Cache", "HIT")], body)


def behind_gateway(name: str, header: str, uid: Any) -> None:
    """Register a backend that takes the person from a header of its gateway, which anyone can send."""

    class Trusting(Backend):
        def person(self, request: Request, body: Any) -> Claims | None:
            try:
                named = uid(request.headers.get(header, ""))
            except (ValueError, KeyError, IndexError, TypeError):
                named = None
            known = next((dict(person) for person in PEOPLE.values() if person["uid"] == named), None)
            return known or super().person(request, body)

    broken(name)(Trusting)


def payload(jwt: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(f"{jwt.split('.')[1]}==="))


behind_gateway("amazon-oidc-data", "x-amzn-oidc-data", lambda jwt: payload(jwt)["sub"])
behind_gateway("cloudflare-access", "cf-access-jwt-assertion", lambda jwt: payload(jwt)["sub"])
behind_gateway("azure-principal", "x-ms-client-principal", lambda text: json.loads(base64.b64decode(text))["userId"])


# frameworks


class SessionOfFlask(Backend):
    """Keeps the uid in a session of Flask, which is signed correctly, with the key of the tutorial."""

    key_of_sessions = b"dev"

    def mac(self, text: str) -> str:
        derived = hmac.digest(self.key_of_sessions, b"cookie-session", hashlib.sha1)
        return b64(hmac.digest(derived, text.encode(), hashlib.sha1))

    def person(self, request: Request, body: Any) -> Claims | None:
        text, _, mac = request.cookies.get(self.cookie, "").rpartition(".")
        if not text or not hmac.compare_digest(mac.encode(), self.mac(text).encode()):
            return None
        uid = json.loads(base64.urlsafe_b64decode(f"{text.split('.')[0]}==="))["user_id"]
        return next((dict(person) for person in PEOPLE.values() if person["uid"] == uid), None)


def flask_session(key: bytes, uid: str) -> str:
    text = f"{b64(compact({'user_id': uid}))}.Z3J1ZQ"
    return f"{text}.{b64(hmac.digest(hmac.digest(key, b'cookie-session', hashlib.sha1), text.encode(), hashlib.sha1))}"


@broken("flask-key-of-tutorial")
class FlaskKeyOfTutorial(SessionOfFlask):
    options = {
        "login": f"Cookie: sid={flask_session(b'dev', 'u-1001')}",
        "login_b": f"Cookie: sid={flask_session(b'dev', 'u-1002')}",
    }


@unusual("FlaskWithRandomKey")
class FlaskWithRandomKey(SessionOfFlask):
    key_of_sessions = b"9d1f4c0a7be24e55b0c3"
    options = {
        "login": f"Cookie: sid={flask_session(b'9d1f4c0a7be24e55b0c3', 'u-1001')}",
        "login_b": f"Cookie: sid={flask_session(b'9d1f4c0a7be24e55b0c3', 'u-1002')}",
    }


with_answer(
    BROKEN, "aspnet-antiforgery", lambda answer, token: Answer(400, [("Content-Length", "0")]) if token else answer
)


@broken("spring-csrf")
class SpringCsrf(Backend):
    """Refuses every POST without a CSRF token, as Spring Security does."""

    async def endpoint(self, request: Request) -> Answer:
        if request.method != "POST":
            return self.refusal(405, "Method Not Allowed")
        return self.json(403, {"timestamp": "2026-01-01T12:00:00Z", "status": 403, "error": "Forbidden"})


@broken("django-csrf-visitors")
class DjangoCsrfVisitors(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        if token:
            return super().answer(request, token)
        return Answer(403, [HTML], b"<p>CSRF verification failed. Request aborted.</p>")


@broken("rails-null-session")
class RailsNullSession(Backend):
    """Gives calls without a CSRF token an empty session (`protect_from_forgery with: :null_session`)."""

    def person(self, request: Request, body: Any) -> Claims | None:
        return super().person(request, body) if "x-csrf-token" in request.headers else None


@broken("rails-reset-session")
class RailsResetSession(Backend):
    """Ends the session if a call has no CSRF token (`protect_from_forgery with: :reset_session`)."""

    options = {"whoami": "{base}/me"}

    def person(self, request: Request, body: Any) -> Claims | None:
        if request.path == self.path and "x-csrf-token" not in request.headers:
            self.sessions.pop(request.cookies.get(self.cookie, ""), None)
        return super().person(request, body)


@broken("laravel-login-302")
class LaravelLogin(Backend):
    """Has the route behind the middleware `auth`, which sends visitors to the login page."""

    def answer(self, request: Request, token: Any) -> Answer:
        return super().answer(request, token) if token else Answer(302, [("Location", "/login")])


@broken("method-override")
class MethodOverride(Backend):
    """Treats a GET as a POST if a header or the query says so, as many frameworks do."""

    async def endpoint(self, request: Request) -> Answer:
        if request.method == "GET" and request.query.get("jkt"):
            request.method, request.body = "POST", compact({"jkt": request.query["jkt"]})
            request.headers["content-type"] = "application/json"
        return await super().endpoint(request)


with_claims(BROKEN, "name-in-latin-1", lambda claims: {**claims, "name": "Bj\u00c3\u00b6rn Lindqvist"})
with_claims(
    BROKEN, "jwt-library-float", lambda claims: {**claims, "iat": claims["iat"] + 0.25, "exp": claims["exp"] + 0.25}
)
with_claims(
    BROKEN, "jwt-library-ms", lambda claims: {**claims, "iat": claims["iat"] * 1000, "exp": claims["exp"] * 1000}
)


# honest


@unusual("RefreshesCookie")
class RefreshesCookie(Backend):
    """Sets the same session cookie with a new end in every answer, as Django's SESSION_SAVE_EVERY_REQUEST does."""

    def answer(self, request: Request, token: Any) -> Answer:
        session = request.cookies.get(self.cookie)
        answer = super().answer(request, token)
        return answer.add("Set-Cookie", f"{self.set_cookie(session)}; Max-Age=7200") if session and token else answer


@unusual("EncryptsCookieAnew")
class EncryptsCookieAnew(Backend):
    """Encrypts the session cookie anew for every answer, as Laravel does. All its values stay valid."""

    def person(self, request: Request, body: Any) -> Claims | None:
        name = self.sessions.get(request.cookies.get(self.cookie, "").partition("~")[0])
        return dict(PEOPLE[name]) if name else None

    def answer(self, request: Request, token: Any) -> Answer:
        session = request.cookies.get(self.cookie, "").partition("~")[0]
        answer = super().answer(request, token)
        return answer.add("Set-Cookie", self.set_cookie(f"{session}~{secrets.token_hex(8)}")) if token else answer


@unusual("BalancerCookies")
class BalancerCookies(Backend):
    """Sets new cookies of a load balancer and a bot protection in every answer."""

    def dated(self, answer: Answer) -> Answer:
        answer.add("Set-Cookie", f"AWSALB={secrets.token_hex(24)}; Path=/; Max-Age=604800")
        answer.add("Set-Cookie", f"AWSALBCORS={secrets.token_hex(24)}; Path=/; SameSite=None; Secure")
        answer.add("Set-Cookie", f"__cf_bm={secrets.token_urlsafe(40)}; Path=/; HttpOnly; Secure; SameSite=None")
        return super().dated(answer)


@unusual("ChecksFetchMetadata")
class ChecksFetchMetadata(Backend):
    """Refuses calls of other sites by Sec-Fetch-Site and Origin, as Go's CrossOriginProtection does."""

    async def endpoint(self, request: Request) -> Answer:
        origin = request.headers.get("origin")
        other = request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}
        if request.method not in {"GET", "HEAD", "OPTIONS"} and (
            other or (origin and not origin.endswith(request.headers["host"]))
        ):
            return Answer(403, [("Content-Type", "text/plain")], b"cross-origin request detected")
        return await super().endpoint(request)


@unusual("AnswersOptions")
class AnswersOptions(Backend):
    async def endpoint(self, request: Request) -> Answer:
        if request.method == "OPTIONS":
            return Answer(204, [("Allow", "POST, OPTIONS")])
        return await super().endpoint(request)


@unusual("ShedsLoad")
class ShedsLoad(Backend):
    """Answers 503 without Retry-After while more than twelve calls are in progress."""

    busy = 0

    async def endpoint(self, request: Request) -> Answer:
        self.busy += 1
        try:
            await asyncio.sleep(0.01)
            return Answer(503, [HTML], b"busy") if self.busy > 12 else await super().endpoint(request)
        finally:
            self.busy -= 1


@unusual("NewInstances")
class NewInstances(Backend):
    """Starts a new instance whenever more calls than before are in progress, which takes 0.7 seconds."""

    busy = most = 0

    async def endpoint(self, request: Request) -> Answer:
        self.busy += 1
        try:
            cold, self.most = self.busy > self.most, max(self.busy, self.most)
            await asyncio.sleep(0.7 if cold else 0)
            return await super().endpoint(request)
        finally:
            self.busy -= 1


@unusual("FirewallRefusesProbes")
class FirewallRefusesProbes(Backend):
    """Is behind a firewall that refuses unknown headers, unknown members and queries with a page."""

    known = frozenset(
        (
            *("host", "accept", "accept-encoding", "user-agent", "origin", "referer", "content-type", "content-length"),
            *("connection", "cookie", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"),
        )
    )

    async def endpoint(self, request: Request) -> Answer:
        body = self.parsed(request)
        members = set(body) if isinstance(body, dict) else set[str]()
        if request.headers.keys() - self.known or members - {"jkt"} or request.query:
            return Answer(403, [HTML], b"<h1>Request blocked</h1>")
        return await super().endpoint(request)


@unusual("FirewallBans")
class FirewallBans(Backend):
    """Is behind a firewall that refuses everything from a program, once it has refused 25 calls."""

    refused = 0

    async def endpoint(self, request: Request) -> Answer:
        if self.refused > 25:
            return Answer(403, [HTML], b"<h1>Access denied</h1><p>error code: 1020</p>")
        answer = await super().endpoint(request)
        self.refused += answer.status >= 400
        return answer


@unusual("CompressesSometimes")
class CompressesSometimes(Backend):
    """Compresses only answers with more than 300 bytes, as many servers do."""

    def json(self, status: int, body: object) -> Answer:
        answer = super().json(status, body).add("Vary", "Accept-Encoding")
        if len(answer.body) > 300:
            answer.add("Content-Encoding", "gzip").body = gzip.compress(answer.body)
        return answer


@unusual("Redirect308")
class Redirect308(Backend):
    """Adds a slash with 308. The checker may warn."""

    async def handle(self, request: Request) -> Answer:
        if request.path == self.path:
            return self.dated(Answer(308, [("Location", "token/")]))
        request.path = request.path.rstrip("/") or "/"
        return await super().handle(request)


@unusual("VisitorsHaveSessions")
class VisitorsHaveSessions(Backend):
    """Gives every visitor a session cookie of the same name as the members', as PHP and Laravel do."""

    def answer(self, request: Request, token: Any) -> Answer:
        answer = super().answer(request, token)
        if self.cookie in request.cookies:
            return answer
        return answer.add("Set-Cookie", self.set_cookie(f"v-{secrets.token_hex(8)}"))


@unusual("DetailedErrors")
class DetailedErrors(Backend):
    """Refuses with the JSON of Spring Boot."""

    def refusal(self, status: int, error: str) -> Answer:
        body = {"timestamp": "2026-01-01T12:00:00.000+00:00", "status": status, "error": error, "path": self.path}
        return Answer(status, [JSON], json.dumps(body).encode())
