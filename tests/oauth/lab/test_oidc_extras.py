"""Tests of the generic issuer: several issuers, ES256, JWTs as access tokens, and tokens without a login."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import jwt
import msgspec
import pytest
from tests.oauth.lab.answers import data
from tests.oauth.visitor import CALLBACK, Visitor, claims_of, content, parameters

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.http import encode

if TYPE_CHECKING:
    from chatkey_oauth.app import App

Change = Callable[..., None]


@pytest.fixture
def change(fake: App) -> Change:
    """Return a function that changes members of our application."""

    def change(**members: Any) -> None:
        ours = fake.world.clients.get("oidc", "ours")
        assert ours is not None
        fake.world.clients.add(msgspec.structs.replace(ours, **members))

    return change


def key_of(visitor: Visitor, token: str, path: str = "/jwks") -> jwt.PyJWK:
    keys = jwt.PyJWKSet.from_dict(content(visitor.get(path)))
    return keys[jwt.get_unverified_header(token)["kid"]]


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_an_id_token_is_signed_with_the_algorithm_of_the_application(
    oidc: Visitor, change: Change, algorithm: str
) -> None:
    change(id_token_signed_response_alg=algorithm)

    id_token = oidc.login()["id_token"]

    key = key_of(oidc, id_token)
    assert jwt.get_unverified_header(id_token)["alg"] == algorithm
    assert jwt.decode(id_token, key, [algorithm], audience="ours", options={"verify_exp": False, "verify_iat": False})


def test_an_application_may_get_jwts_as_access_tokens(oidc: Visitor, change: Change) -> None:
    change(access_tokens="jwt", audience="https://api.example")

    token = oidc.login()
    access = token["access_token"]

    key, audience = key_of(oidc, access), "https://api.example"
    claims = jwt.decode(access, key, ["RS256"], audience=audience, options={"verify_exp": False, "verify_iat": False})
    assert jwt.get_unverified_header(access)["typ"] == "at+jwt"
    assert claims["sub"] == claims_of(token["id_token"])["sub"] == oidc.subject(access)
    assert (claims["client_id"], claims["scope"]) == ("ours", "openid email profile")
    assert claims["exp"] - claims["iat"] == token["expires_in"]
    assert {"jti", "auth_time", "iss"} <= claims.keys()


def test_an_application_gets_a_jwt_for_itself(oidc: Visitor, change: Change) -> None:
    change(access_tokens="jwt")
    form = {"grant_type": "client_credentials", "client_id": "ours", "client_secret": "ours-secret"}

    claims = claims_of(content(oidc.post("/token", form))["access_token"])

    assert (claims["sub"], claims["client_id"], claims["aud"]) == ("ours", "ours", claims["iss"])
    assert "auth_time" not in claims


class Tenant(Visitor):
    """A visitor of one issuer below `oidc`."""

    def __init__(self, fake: App, tenant: str) -> None:
        super().__init__(fake, "oidc")
        self.name = f"oidc/{tenant}"


def test_every_path_below_oidc_is_an_issuer_of_its_own(fake: App, oidc: Visitor) -> None:
    acme, other = Tenant(fake, "acme"), Tenant(fake, "other")
    document = content(acme.get("/.well-known/openid-configuration"))
    inserted = fake.answer(Call("GET", "/.well-known/openid-configuration/oidc/acme"))
    code = acme.callback()["code"]

    elsewhere, at_home = other.redeem(code), acme.redeem(code)

    assert document["issuer"] == "https://id.localhost/oidc/acme"
    assert document["token_endpoint"] == "https://id.localhost/oidc/acme/token"
    assert content(inserted) == document
    assert (elsewhere.status, at_home.status) == (400, 200)
    assert claims_of(content(at_home)["id_token"])["iss"] == document["issuer"]
    assert other.profile(content(at_home)["access_token"]).status == 401
    assert oidc.get("/acme/nothing").status == 404


def test_the_issuer_of_a_tenant_names_itself_in_the_callback_and_has_its_own_cookie(fake: App) -> None:
    acme = Tenant(fake, "acme")

    answer = acme.decide()

    assert parameters(answer)["iss"] == "https://id.localhost/oidc/acme"
    assert "Path=/oidc/acme;" in dict(answer.headers)["set-cookie"]


def test_a_callback_can_be_a_form(oidc: Visitor) -> None:
    page = oidc.decide(response_mode="form_post").body.decode()

    assert f'action="{CALLBACK}"' in page
    assert 'name="code"' in page
    assert 'name="state" value="st-1"' in page


async def test_a_test_gets_tokens_without_a_login(lab: httpx.AsyncClient, oidc: Visitor, github: Visitor) -> None:
    mint = {"provider": "oidc", "client_id": "ours", "account": "omar", "nonce": "n-1", "scopes": ["openid", "email"]}

    token = data(await lab.post("/lab/token", json=mint))
    other = data(await lab.post("/lab/token", json={"provider": "github", "client_id": "ours", "account": "omar"}))
    machine = data(await lab.post("/lab/token", json={"provider": "oidc", "client_id": "ours", "scopes": ["a"]}))

    assert content(oidc.profile(token["access_token"]))["email"] == "omar@corp.example"
    assert claims_of(token["id_token"])["nonce"] == "n-1"
    assert content(github.profile(other["access_token"]))["login"] == "omar"
    assert "id_token" not in machine
    form = {"token": machine["access_token"], "client_id": "ours", "client_secret": "ours-secret"}
    assert content(oidc.post("/introspect", encode(form).encode()))["sub"] == "ours"


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"provider": "myspace"}, 404, "provider_unknown"),
        ({"client_id": "x"}, 404, "client_unknown"),
        ({"account": "x"}, 404, "person_unknown"),
        ({"scope": "openid"}, 400, "request_invalid"),
    ],
)
async def test_tokens_for_something_unknown_are_refused(
    lab: httpx.AsyncClient, changes: dict[str, str], status: int, code: str
) -> None:
    answer = await lab.post("/lab/token", json={"provider": "oidc", "client_id": "ours", "account": "rhea"} | changes)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
