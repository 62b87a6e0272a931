"""Endpoints that bind a token to the wrong key or issue a token for the wrong person."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import unicodedata
from typing import Any
from urllib.parse import unquote

from tests.check.mutants.mutant_backend import (
    BROKEN,
    PEOPLE,
    SESSIONS,
    Backend,
    Claims,
    b64,
    register,
    with_claims,
    with_jkt,
    without,
)
from tests.check.mutants.mutant_server import Answer, Request

broken = register(BROKEN)
JKT_ELSEWHERE = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"

# cnf

with_claims(BROKEN, "cnf-missing", lambda claims: without(claims, "cnf"))
with_claims(BROKEN, "cnf-array", lambda claims: {**claims, "cnf": [claims["cnf"]]})
with_claims(BROKEN, "cnf-x5t", lambda claims: {**claims, "cnf": {"x5t#S256": claims["cnf"]["jkt"]}})
with_claims(BROKEN, "cnf-flat", lambda claims: {**without(claims, "cnf"), "jkt": claims["cnf"]["jkt"]})
with_claims(BROKEN, "cnf-dotted", lambda claims: {**without(claims, "cnf"), "cnf.jkt": claims["cnf"]["jkt"]})
with_claims(BROKEN, "cnf-text", lambda claims: {**claims, "cnf": json.dumps(claims["cnf"])})
with_claims(BROKEN, "cnf-bare", lambda claims: {**claims, "cnf": claims["cnf"]["jkt"]})
with_claims(BROKEN, "cnf-null", lambda claims: {**claims, "cnf": None})
with_claims(BROKEN, "cnf-empty", lambda claims: {**claims, "cnf": {}})
with_claims(BROKEN, "cnf-jwk", lambda claims: {**claims, "cnf": {"jwk": {"kty": "EC"}}})
with_claims(BROKEN, "claims-in-data", lambda claims: {"iat": claims["iat"], "exp": claims["exp"], "data": claims})
with_claims(BROKEN, "cnf-capitals", lambda claims: {**claims, "cnf": {"JKT": claims["cnf"]["jkt"]}})
with_jkt(BROKEN, "jkt-null", lambda jkt: None)
with_jkt(BROKEN, "jkt-list", lambda jkt: [jkt])
with_jkt(BROKEN, "jkt-blank", lambda jkt: "")
with_jkt(BROKEN, "jkt-const", lambda jkt: JKT_ELSEWHERE)
with_jkt(BROKEN, "jkt-lower", str.lower)
with_jkt(BROKEN, "jkt-upper", str.upper)
with_jkt(BROKEN, "jkt-trunc", lambda jkt: jkt[:32])
with_jkt(BROKEN, "jkt-rehash", lambda jkt: b64(hashlib.sha256(jkt.encode()).digest()))
with_jkt(BROKEN, "jkt-rehash-hex", lambda jkt: hashlib.sha256(jkt.encode()).hexdigest())
with_jkt(BROKEN, "jkt-padded", lambda jkt: f"{jkt}=")
with_jkt(BROKEN, "jkt-standard-b64", lambda jkt: jkt.translate(str.maketrans("-_", "+/")))
with_jkt(BROKEN, "jkt-encoded", lambda jkt: base64.b64encode(jkt.encode()).decode())
with_jkt(BROKEN, "jkt-hex", lambda jkt: base64.urlsafe_b64decode(f"{jkt}=").hex())
with_jkt(BROKEN, "jkt-quoted", json.dumps)
with_jkt(BROKEN, "jkt-undefined", lambda jkt: "undefined")
with_jkt(BROKEN, "jkt-object-text", lambda jkt: "[object Object]")
with_jkt(BROKEN, "jkt-body-text", lambda jkt: json.dumps({"jkt": jkt}))
with_jkt(BROKEN, "jkt-filtered", lambda jkt: jkt.replace("--", ""))
with_jkt(BROKEN, "jkt-alnum", lambda jkt: "".join(filter(str.isalnum, jkt)))


@broken("cnf-in-header")
class CnfInHeader(Backend):
    def signed(self, header: Claims, claims: Claims) -> Any:
        return super().signed({**header, "cnf": claims["cnf"]}, without(claims, "cnf"))


@broken("jkt-from-query")
class JktFromQuery(Backend):
    def jkt(self, request: Request, body: Any) -> Any:
        return request.query.get("jkt") or super().jkt(request, body)


@broken("token-cached-per-user")
class CachedPerUser(Backend):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: dict[str, str] = {}

    def token(self, person: Claims, jkt: Any) -> Any:
        return self.kept.setdefault(person["uid"], super().token(person, jkt))


@broken("token-cached-per-jkt")
class CachedPerJkt(Backend):
    """Caches a token for each jkt, regardless of the person who is logged in."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: dict[str, str] = {}

    def token(self, person: Claims, jkt: Any) -> Any:
        return self.kept.setdefault(jkt, super().token(person, jkt))


@broken("one-browser-only")
class OneBrowserOnly(Backend):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.browsers: dict[str, Any] = {}

    def token(self, person: Claims, jkt: Any) -> Any:
        mine = self.browsers.setdefault(person["uid"], jkt)
        return super().token(person, jkt) if mine == jkt else None


@broken("shared-jkt")
class SharedJkt(Backend):
    """Stores the jkt of the request in a variable that all requests share, and then waits for the database."""

    async def endpoint(self, request: Request) -> Answer:
        jkt = self.jkt(request, self.parsed(request))
        if self.right_jkt(jkt):  # an invalid jkt would sometimes break other calls
            self.last = jkt
        await asyncio.sleep(0.005)
        return await super().endpoint(request)

    def claims(self, person: Claims, jkt: Any) -> Claims:
        return super().claims(person, self.last)


@broken("shared-user")
class SharedUser(Backend):
    async def endpoint(self, request: Request) -> Answer:
        self.last = super().person(request, None)
        await asyncio.sleep(0.005)
        return await super().endpoint(request)

    def person(self, request: Request, body: Any) -> Claims | None:
        return self.last


@broken("shared-user-one-login")
class SharedUserOneLogin(SharedUser):
    options = {"login_b": None}


@broken("crashes-when-busy")
class CrashesWhenBusy(Backend):
    busy = 0

    async def endpoint(self, request: Request) -> Answer:
        self.busy += 1
        await asyncio.sleep(0.005)
        crash = self.busy > 3
        self.busy -= 1
        return self.json(500, {"error": "database is locked"}) if crash else await super().endpoint(request)


# pid, type, uid

with_claims(BROKEN, "pid-missing", lambda claims: without(claims, "pid"))
with_claims(BROKEN, "pid-other", lambda claims: {**claims, "pid": "prov_staging"})
with_claims(BROKEN, "pid-upper", lambda claims: {**claims, "pid": claims["pid"].upper()})
with_claims(BROKEN, "pid-number", lambda claims: {**claims, "pid": 17})
with_claims(BROKEN, "pid-renamed", lambda claims: {**without(claims, "pid"), "provider_id": claims["pid"]})
with_claims(BROKEN, "pid-list", lambda claims: {**claims, "pid": [claims["pid"]]})
with_claims(BROKEN, "type-list", lambda claims: {**claims, "type": ["user"]})
with_claims(BROKEN, "type-missing", lambda claims: without(claims, "type"))
with_claims(BROKEN, "type-capital", lambda claims: {**claims, "type": "User"})
with_claims(BROKEN, "type-visitor", lambda claims: {**claims, "type": "visitor"})
with_claims(BROKEN, "type-identity", lambda claims: {**claims, "type": "identity"})
for name, uid in {
    "uid-int": 1001,
    "uid-undefined": "undefined",
    "uid-empty": "",
    "uid-null": None,
    "uid-true": True,
    "uid-list": ["u-1001"],
    "uid-zero": "0",
    "uid-guest": "guest",
    "uid-object-text": "[object Object]",
    "uid-json": '{"id": 1001}',
    "uid-spaces": "   ",
    "uid-newline": "u-1001\n",
    "uid-control": "u-\x001001",
    "uid-long": "u" * 300,
    "uid-python-none": "None",
    "uid-anonymous": "AnonymousUser",
}.items():
    with_claims(BROKEN, name, lambda claims, uid=uid: {**claims, "uid": uid})  # type: ignore[misc]
with_claims(BROKEN, "uid-as-sub", lambda claims: {**without(claims, "uid"), "sub": claims["uid"]})
with_claims(BROKEN, "uid-social", lambda claims: {**claims, "uid": "google:123" + claims["uid"][-1]})
with_claims(BROKEN, "uid-email", lambda claims: {**claims, "uid": claims["email"]})
with_claims(BROKEN, "uid-phone", lambda claims: {**claims, "uid": "+49 170 123456" + claims["uid"][-1]})
with_claims(BROKEN, "uid-constant", lambda claims: {**claims, "uid": "u-1000"})


@broken("uid-per-call")
class UidPerCall(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        return {**person, "uid": f"{person['uid']}-{self.calls}"} if person else None


@broken("uid-per-login")
class UidPerLogin(Backend):
    options = {"login": "form", "login_b": None}

    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        return {**person, "uid": f"u-{request.cookies['sid']}"} if person else None


@broken("second-login-unknown")
class SecondLoginUnknown(Backend):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        del self.sessions[SESSIONS["bo"]]


# identities trusted without authentication


class Believing(Backend):
    """Takes the person's uid from a place that the caller controls."""

    def named(self, request: Request, body: Any) -> str | None:
        return None

    def person(self, request: Request, body: Any) -> Claims | None:
        person, named = super().person(request, body), self.named(request, body)
        return {**person, "uid": named} if person and named else person


class ClaimsFromBody(Backend):
    """Takes the claims listed in `taken` from the request body."""

    taken: tuple[str, ...] = ()

    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        named = self.said(body) if isinstance(body, dict) else {}
        return person and {**person, **{name: named[name] for name in self.taken if name in named}}

    def said(self, body: Claims) -> Claims:
        """Return the part of the body that contains the claims."""
        return body


@broken("name-from-body")
class NameFromBody(ClaimsFromBody):
    taken = ("name",)


@broken("type-from-body")
class TypeFromBody(ClaimsFromBody):
    taken = ("type",)


@broken("claims-from-body")
class MergesClaims(ClaimsFromBody):
    taken = ("uid", "name", "type", "email")

    def said(self, body: Claims) -> Claims:
        named = body.get("claims")
        return named if isinstance(named, dict) else {}


@broken("uid-from-body")
class UidFromBody(Believing):
    def named(self, request: Request, body: Any) -> str | None:
        return str(body["uid"]) if "uid" in body else None


@broken("sub-from-body")
class SubFromBody(Believing):
    def named(self, request: Request, body: Any) -> str | None:
        return str(body["sub"]) if "sub" in body else None


@broken("uid-from-query")
class UidFromQuery(Believing):
    def named(self, request: Request, body: Any) -> str | None:
        return unquote(request.query.get("uid", "")) or None


@broken("user-from-header")
class UserFromHeader(Believing):
    def named(self, request: Request, body: Any) -> str | None:
        return request.headers.get("x-forwarded-user")


@broken("known-user-from-body")
class KnownUserFromBody(Backend):
    """Identifies the user by the `user_id` in the body if a user has that id."""

    def person(self, request: Request, body: Any) -> Claims | None:
        known = next((dict(who) for who in PEOPLE.values() if who["uid"] == body.get("user_id")), None)
        return known or super().person(request, body)


@broken("email-names-user")
class EmailNamesUser(Backend):
    """Identifies the user by the e-mail address in the body if a user has that address."""

    def person(self, request: Request, body: Any) -> Claims | None:
        known = next((dict(who) for who in PEOPLE.values() if who["email"] == body.get("email")), None)
        return known or super().person(request, body)


@broken("anonymous-names-user")
class AnonymousNamesUser(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        named = body.get("userId")
        return super().person(request, body) or ({"uid": named} if named else None)


@broken("anonymous-header-user")
class AnonymousHeaderUser(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        named = request.headers.get("x-user-id")
        return super().person(request, body) or ({"uid": named} if named else None)


@broken("email-from-body")
class EmailFromBody(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        return {**person, "email": body.get("email") or person["email"]} if person else None


@broken("body-spread")
class BodySpread(Backend):
    """Copies the whole body into the claims."""

    def person(self, request: Request, body: Any) -> Claims | None:
        person = super().person(request, body)
        return {**person, **without(body, "jkt")} if person else None


# displayed claims and private data

with_claims(BROKEN, "name-object", lambda claims: {**claims, "name": {"first": "Ada"}})
with_claims(BROKEN, "name-control", lambda claims: {**claims, "name": "Ada\u0007"})
with_claims(BROKEN, "name-long", lambda claims: {**claims, "name": "A" * 300})
with_claims(BROKEN, "name-undefined", lambda claims: {**claims, "name": "undefined"})
with_claims(BROKEN, "email-int", lambda claims: {**claims, "email": 7})
with_claims(BROKEN, "email-list", lambda claims: {**claims, "email": [claims["email"]]})
with_claims(BROKEN, "avatar-js", lambda claims: {**claims, "avatar": "javascript:alert(1)"})
with_claims(BROKEN, "avatar-data", lambda claims: {**claims, "avatar": "data:image/png;base64,AAAA"})
with_claims(BROKEN, "avatar-relative", lambda claims: {**claims, "avatar": "/people/ada.png"})
with_claims(BROKEN, "avatar-schemeless", lambda claims: {**claims, "avatar": "//cdn.example/ada.png"})
with_claims(BROKEN, "avatar-number", lambda claims: {**claims, "avatar": 3})
with_claims(BROKEN, "avatar-empty", lambda claims: {**claims, "avatar": ""})
with_claims(BROKEN, "pii", lambda claims: {**claims, "password_hash": "5f4dcc3b5aa765d61d8327deb882cf99"})
with_claims(BROKEN, "bcrypt-inside", lambda claims: {**claims, "meta": {"h": "$2b$12$" + "K" * 53}})
with_claims(BROKEN, "card", lambda claims: {**claims, "payment": "4111 1111 1111 1111"})
with_claims(BROKEN, "api-key", lambda claims: {**claims, "apiKey": "k-77"})
with_claims(BROKEN, "refresh-token", lambda claims: {**claims, "oauth": {"refresh_token": "r-77"}})


# wrong for the second login only


def for_bo(name: str, change: Any) -> None:
    """Register a backend that changes only the claims of Bo."""
    with_claims(BROKEN, name, lambda claims: {**claims, **change(claims)} if claims["name"] == "Bo Okafor" else claims)


for_bo("second-login-role", lambda claims: {"type": "staff"})
for_bo("second-login-int-uid", lambda claims: {"uid": 1002})
for_bo("second-login-day", lambda claims: {"exp": claims["exp"] + 86_400})
for_bo("second-login-pid", lambda claims: {"pid": "prov_wholesale"})


@broken("jkt-once")
class JktOnce(Backend):
    """Returns a token only for the first call with a jkt, and null for later calls."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.known: set[str] = set()

    def token(self, person: Claims, jkt: Any) -> Any:
        if jkt in self.known:
            return None
        self.known.add(jkt)
        return super().token(person, jkt)


@broken("three-browsers")
class ThreeBrowsers(Backend):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.browsers: dict[str, list[str]] = {}

    def token(self, person: Claims, jkt: Any) -> Any:
        mine = self.browsers.setdefault(person["uid"], [])
        if jkt not in mine:
            mine.append(jkt)
        return super().token(person, jkt) if jkt in mine[:3] else None


with_jkt(BROKEN, "jkt-stripped", lambda jkt: jkt.strip("-_"))
with_claims(BROKEN, "uid-template", lambda claims: {**claims, "uid": f"{{{{ {claims['uid']} }}}}"})
with_claims(BROKEN, "uid-optional", lambda claims: {**claims, "uid": f"Optional[{claims['uid']}]"})
with_claims(BROKEN, "name-escaped", lambda claims: {**claims, "name": "Ada O&#39;Brien"})
with_claims(BROKEN, "name-template", lambda claims: {**claims, "name": "${user.name}"})
with_claims(BROKEN, "name-object-text", lambda claims: {**claims, "name": "[object Object]"})
with_claims(BROKEN, "avatar-port", lambda claims: {**claims, "avatar": "https://cdn.example:99999/ada.png"})
with_claims(BROKEN, "session-in-text", lambda claims: {**claims, "ref": f"sid={SESSIONS['ada']};"})
with_claims(BROKEN, "claim-address-with-password", lambda claims: {**claims, "db": "postgres://app:hunter2@db/shop"})
with_claims(BROKEN, "claim-csrf-token", lambda claims: {**claims, "csrfToken": "8d9f7a6b5c"})


class NamedByHeader(Backend):
    """Trusts a header that only a gateway should set, although there is no gateway."""

    header_name = ""

    def person(self, request: Request, body: Any) -> Claims | None:
        named = request.headers.get(self.header_name, "")
        known = next((dict(one) for one in PEOPLE.values() if named in {one["uid"], one["email"]}), None)
        return known or super().person(request, body)


@broken("user-from-cloudflare")
class UserFromCloudflare(NamedByHeader):
    header_name = "cf-access-authenticated-user-email"


@broken("user-from-azure")
class UserFromAzure(NamedByHeader):
    header_name = "x-ms-client-principal-id"


@broken("switch-user")
class SwitchUser(Backend):
    def person(self, request: Request, body: Any) -> Claims | None:
        named = request.query.get("_switch_user")
        known = next((dict(one) for one in PEOPLE.values() if named == one["uid"]), None)
        return known or super().person(request, body)


@broken("uid-in-two-forms")
class UidInTwoForms(Backend):
    def claims(self, person: Claims, jkt: Any) -> Claims:
        uid = unicodedata.normalize("NFC" if self.calls % 2 else "NFD", f"zoé-{person['uid']}")
        return {**super().claims(person, jkt), "uid": uid}
