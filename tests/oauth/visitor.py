"""A combined browser and backend that logs in at a fake without a network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chatkey_oauth.app import App, create_app
from chatkey_oauth.clock import Clock
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer, encode
from chatkey_oauth.engine.pkce import s256
from chatkey_oauth.providers import NAMES

NOW = 1_795_000_000
NONE: Mapping[str, str] = MappingProxyType({})
CALLBACK = "https://chat.example/callback"
FORM = "application/x-www-form-urlencoded"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

APPLE_KEY = derive_private_key(0xF3, SECP256R1())
APPLE_KEYS: dict[str, Any] = {
    "team_id": "TEAM000001",
    "key_id": "KEY0000001",
    "public_key": APPLE_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
}


class Site(NamedTuple):
    """The facts about a provider that a login needs: the paths of the endpoints, the scope, and the parameters.

    `fields` are the fields to request from the profile. `subject` is the path to the id in a profile. `client` is the
    name of the client id parameter. `proof` says how a client authenticates. `demands` are additional parameters that
    an authorization request must have.
    """

    authorize: str
    token: str
    profile: str
    scope: str
    subject: str = "id"
    fields: str = ""
    client: str = "client_id"
    proof: Literal["body", "basic", "jwt"] = "body"
    demands: Mapping[str, str] = NONE

    def named(self, params: Mapping[str, str | None]) -> dict[str, str]:
        """Return the parameters with the names that the provider uses. Parameters with the value None are omitted."""
        names = {"client_id": self.client}
        return {names.get(name, name): value for name, value in params.items() if value is not None}


WRITTEN = {
    "google": Site("/o/oauth2/v2/auth", "/token", "/v1/userinfo", "openid email profile", "sub"),
    "facebook": Site("/v24.0/dialog/oauth", "/v24.0/oauth/access_token", "/v24.0/me", "email,public_profile"),
    "github": Site("/login/oauth/authorize", "/login/oauth/access_token", "/user", "read:user user:email"),
    "gitlab": Site("/oauth/authorize", "/oauth/token", "/api/v4/user", "openid email profile read_user"),
    "discord": Site("/oauth2/authorize", "/api/oauth2/token", "/api/users/@me", "identify email openid"),
    "tiktok": Site(
        *("/v2/auth/authorize/", "/v2/oauth/token/", "/v2/user/info/", "user.info.basic"),
        subject="data.user.open_id",
        fields="open_id,display_name",
        client="client_key",
    ),
    "apple": Site("/auth/authorize", "/auth/token", "", "openid", proof="jwt"),
    "x": Site(
        *("/i/oauth2/authorize", "/2/oauth2/token", "/2/users/me", "tweet.read users.read"),
        subject="data.id",
        proof="basic",
        demands={"code_challenge": s256(VERIFIER), "code_challenge_method": "S256"},
    ),
    "microsoft": Site(
        *("/common/oauth2/v2.0/authorize", "/common/oauth2/v2.0/token", "/oidc/userinfo"),
        *("openid email profile", "sub"),
    ),
    "linkedin": Site("/oauth/v2/authorization", "/oauth/v2/accessToken", "/v2/userinfo", "openid profile email", "sub"),
    "oidc": Site("/authorize", "/token", "/userinfo", "openid email profile", "sub"),
    "amazon": Site("/ap/oa", "/auth/o2/token", "/user/profile", "profile", "user_id"),
}


def declared(name: str) -> Site:
    """Derive the site of a provider from its declared routes and scopes.

    Use it for providers that `WRITTEN` does not list.
    """
    provider = create_app().provider(name)
    routes = provider.routes().items()
    authorize, token, profile = (
        next((path.split()[-1] for path, route in routes if route.leg is leg), "")
        for leg in (Leg.AUTHORIZE, Leg.TOKEN, Leg.PROFILE)
    )
    return Site(authorize, token, profile, " ".join(provider.scopes), "sub", client=provider.client_parameter)


SITES = {name: WRITTEN.get(name) or declared(name) for name in NAMES}


def client(provider: str, who: str) -> Client:
    """Return an application with a secret. An Apple application has a key instead."""
    keys: dict[str, Any] = APPLE_KEYS if provider == "apple" else {"client_secret": f"{who}-secret"}
    return Client(provider=provider, client_id=who, name=who, redirect_uris=(CALLBACK,), **keys)


def apple_secret(client_id: str, *, now: int = NOW, **changes: Any) -> str:
    """Return a client secret for an Apple application, signed with the application's key."""
    claims = {"iss": "TEAM000001", "sub": client_id, "aud": "https://appleid.apple.com", "iat": now, "exp": now + 3600}
    return jwt.encode(claims | changes, APPLE_KEY, "ES256", {"kid": "KEY0000001"})


class Visitor:
    """A combined browser and backend that talks to one provider of a fake."""

    def __init__(self, fake: App, name: str) -> None:
        self.fake = fake
        self.name = name
        self.site = SITES[name]

    @property
    def clock(self) -> Clock:
        return self.fake.clock

    def switch(self, name: str, *, on: bool) -> None:
        self.fake.world.switches.set(f"{self.name}.{name}", on=on)

    def get(self, path: str, params: Mapping[str, str] | None = None, **headers: str) -> Answer:
        return self.send("GET", path, encode(params or {}), headers=headers)

    def post(self, path: str, form: Mapping[str, str] | bytes, query: str = "", **headers: str) -> Answer:
        body = form if isinstance(form, bytes) else encode(form).encode()
        headers = {"content_type": FORM} | headers
        return self.send("POST", path, query, body, headers)

    def send(
        self,
        method: str,
        path: str,
        query: str = "",
        body: bytes = b"",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """Send any request. Underscores in header names become hyphens."""
        named = {"user-agent": "tests"} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.fake.answer(Call(method, f"/{self.name}{path}", query, named, body))

    def request(self, **changes: str | None) -> dict[str, str]:
        """Return the parameters of an authorization request. Parameters with the value None are omitted."""
        params: dict[str, str | None] = {
            "client_id": "ours",
            "redirect_uri": CALLBACK,
            "response_type": "code",
            "scope": self.site.scope,
            "state": "st-1",
        }
        return self.site.named({**params, **self.site.demands, **changes})

    def ask(self, **changes: str | None) -> Answer:
        return self.get(self.site.authorize, self.request(**changes))

    def decide(
        self, person: str = "rhea", *, decision: str = "approve", also: str = "", **changes: str | None
    ) -> Answer:
        """Submit the consent form. The text in `also` is appended to the form's fields."""
        form = encode({"account": person, "decision": decision})
        return self.post("/consent", f"{form}&{also}".encode(), encode(self.request(**changes)))

    def callback(self, person: str = "rhea", **changes: str | None) -> dict[str, str]:
        return parameters(self.decide(person, decision="approve", also="", **changes))

    def redeem(
        self,
        code: str | None,
        *,
        basic: str = "",
        accept: str = "application/json",
        content_type: str = FORM,
        **changes: str | None,
    ) -> Answer:
        """Send the token request. Parameters with the value None are omitted."""
        params: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": CALLBACK,
            "client_id": "ours",
            "client_secret": "ours-secret",
            "code_verifier": VERIFIER if self.site.demands else None,
        }
        form = self.prove(self.site.named(params | changes))
        proof = form.pop("authorization", "")
        headers = {"authorization": basic or proof} if basic or proof else {}
        return self.post(self.site.token, form, accept=accept, content_type=content_type, **headers)

    def refresh(self, token: str, **changes: Any) -> Answer:
        return self.redeem(None, grant_type="refresh_token", refresh_token=token, **changes)

    def prove(self, form: dict[str, str]) -> dict[str, str]:
        """Convert the client's id and secret to the kind of authentication that the provider uses.

        `authorization` in the result is the value for the header of that name.
        """
        who, secret = form.get("client_id", ""), form.get("client_secret")
        if self.site.proof == "jwt" and secret == f"{who}-secret":
            return form | {"client_secret": apple_secret(who, now=int(self.fake.clock()))}
        if self.site.proof == "basic" and who:
            basic = b64encode(f"{who}:{secret or ''}".encode()).decode()
            rest = {name: value for name, value in form.items() if name not in {"client_id", "client_secret"}}
            return rest | {"authorization": f"Basic {basic}"}
        return form

    def login(self, person: str = "rhea", **changes: str | None) -> dict[str, Any]:
        answer = self.redeem(self.callback(person, **changes)["code"])
        assert answer.status == 200, answer
        token: dict[str, Any] = content(answer)
        return token

    def access_token(self, person: str = "rhea", **changes: str | None) -> str:
        return str(self.login(person, **changes)["access_token"])

    def profile(self, token: str, path: str = "", **params: str) -> Answer:
        asked = {"fields": self.site.fields} if self.site.fields and not path else {}
        return self.get(path or self.site.profile, asked | params, authorization=f"Bearer {token}")

    def cookie(self, person: str = "rhea") -> str:
        """Return the cookie of a browser in which a person is signed in, without any approval."""
        provider = self.fake.provider(self.name)
        key = provider.sessions.begin(person, int(self.clock())).key if provider.keeps_sessions else person
        return f"chatkey_fake_{self.name}={key}"

    def subject(self, token: str) -> Any:
        found = content(self.profile(token))
        for step in self.site.subject.split("."):
            found = found[step]
        return found


def parameters(answer: Answer) -> dict[str, str]:
    assert answer.status == 302, answer
    location = dict(answer.headers)["location"]
    assert location.startswith(CALLBACK), location
    return dict(parse_qsl(urlsplit(location).query, keep_blank_values=True))


def content(answer: Answer) -> Any:
    return msgspec.json.decode(answer.body)


def claims_of(id_token: str) -> dict[str, Any]:
    """Return the claims of an id_token. The signature is not verified."""
    claims: dict[str, Any] = jwt.decode(id_token, options={"verify_signature": False})
    return claims


Visit = Callable[[str], Visitor]
