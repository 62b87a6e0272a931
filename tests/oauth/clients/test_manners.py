"""Tests of peculiar requests that client libraries in other languages send. Each test covers one peculiarity."""

from __future__ import annotations

import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlencode

import httpx
import jwt
import msgspec
import pytest
from cryptography.x509 import load_pem_x509_certificate

from chatkey_oauth.engine.pkce import s256
from chatkey_oauth.ready_made import apple_p8
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.oauth.clients.browser import Browser, Callback

    from chatkey_oauth.engine.clients import Client

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
AUTHORIZE = {
    "google": "/o/oauth2/v2/auth",
    "facebook": "/v24.0/dialog/oauth",
    "github": "/login/oauth/authorize",
    "gitlab": "/oauth/authorize",
    "discord": "/oauth2/authorize",
    "apple": "/auth/authorize",
    "x": "/i/oauth2/authorize",
    "tiktok": "/v2/auth/authorize/",
    "amazon": "/ap/oa",
}
TOKEN = {
    "google": "/token",
    "facebook": "/v24.0/oauth/access_token",
    "github": "/login/oauth/access_token",
    "gitlab": "/oauth/token",
    "discord": "/api/oauth2/token",
    "apple": "/auth/token",
    "x": "/2/oauth2/token",
    "tiktok": "/v2/oauth/token/",
    "amazon": "/auth/o2/token",
}
SCOPE = {
    "google": "openid email profile",
    "facebook": "email",
    "github": "user:email",
    "gitlab": "read_user",
    "discord": "identify email",
    "apple": "email",
    "x": "users.read tweet.read",
    "tiktok": "user.info.basic",
    "amazon": "profile",
}


class Library:
    """Sends the requests that a client library would send to one provider, from a browser and from a backend."""

    def __init__(self, http: httpx.Client, browser: Browser, name: str, client: Client, callback: str) -> None:
        self.http = http
        self.browser = browser
        self.name = name
        self.client = client
        self.callback = callback

    def url(self, **changes: str | None) -> str:
        """Return the URL of an authorization request. Parameters with the value None are omitted."""
        params: dict[str, str | None] = {
            "client_key" if self.name == "tiktok" else "client_id": self.client.client_id,
            "redirect_uri": self.callback,
            "response_type": "code",
            "scope": SCOPE[self.name],
            "state": "st-1",
        }
        if self.name == "apple":
            params["response_mode"] = "form_post"
        named = {name: value for name, value in (params | changes).items() if value is not None}
        return str(self.http.base_url.join(f"/{self.name}{AUTHORIZE[self.name]}?{urlencode(named)}"))

    def approve(self, **changes: str | None) -> Callback:
        """Open an authorization request, approve it, and return the callback."""
        return self.browser.approve(self.url(**changes))

    def redeem(self, code: str, *, path: str = "", headers: dict[str, str] | None = None, **changes: str | None) -> Any:
        """Send a token request with the credentials in the form. Parameters with the value None are omitted."""
        form: dict[str, str | None] = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.callback}
        form["client_key" if self.name == "tiktok" else "client_id"] = self.client.client_id
        form["client_secret"] = apple_secret(self.client) if self.name == "apple" else self.client.client_secret
        named = {name: value for name, value in (form | changes).items() if value is not None}
        sent = {"accept": "application/json"} | (headers or {})
        return self.http.post(f"/{self.name}{path or TOKEN[self.name]}", data=named, headers=sent)

    def by_header(self, code: str, credentials: str, **more: str) -> Any:
        """Send a token request with these credentials in a Basic header."""
        basic = {"authorization": f"Basic {b64encode(credentials.encode()).decode()}"}
        return self.redeem(code, headers=basic, client_id=None, client_secret=None, **more)

    def get(self, path: str, token: str = "", **options: Any) -> httpx.Response:
        headers = options.pop("headers", {}) | ({"authorization": f"Bearer {token}"} if token else {})
        return self.http.get(f"/{self.name}{path}", headers=headers, **options)


def apple_secret(client: Client, audience: Any = "https://appleid.apple.com") -> str:
    """Return an Apple client secret that is valid for five minutes."""
    now = int(time.time())
    claims = {"iss": client.team_id, "iat": now, "exp": now + 300, "aud": audience, "sub": client.client_id}
    return jwt.encode(claims, apple_p8(), algorithm="ES256", headers={"kid": client.key_id})


@pytest.fixture
def library(
    address: str, lab: httpx.Client, browser: Browser, application: Callable[[str], Client], callback: str
) -> Iterator[Callable[..., Library]]:
    """Return a function that creates a `Library` for a provider. Keyword arguments change the application."""
    with httpx.Client(base_url=address, trust_env=False, verify=False, timeout=PATIENCE) as http:

        def at(name: str, **changes: Any) -> Library:
            client = msgspec.structs.replace(application(name), **changes)
            if changes:
                lab.post("/clients", json=msgspec.to_builtins(client)).raise_for_status()
            return Library(http, browser, name, client, callback)

        yield at


At = Callable[..., Library]


@pytest.mark.parametrize("name", ["google", "facebook", "github", "gitlab", "discord", "amazon"])
def test_auth_js_percent_encodes_what_is_in_a_basic_header(library: At, name: str) -> None:
    client = library(name, client_secret="a+b/c=:%20~")  # as some password managers make them
    encoded = f"{quote(client.client.client_id, safe='')}:{quote('a+b/c=:%20~', safe='')}"

    answer = client.by_header(client.approve().params["code"], encoded)

    assert "access_token" in answer.json()


@pytest.mark.parametrize("name", ["google", "facebook", "github", "gitlab", "discord", "amazon"])
def test_arctic_does_not_encode_the_basic_header(library: At, name: str) -> None:
    client = library(name, client_secret="a+b/c=:%20~")

    answer = client.by_header(client.approve().params["code"], f"{client.client.client_id}:a+b/c=:%20~")

    assert "access_token" in answer.json()


@pytest.mark.parametrize("name", [name for name in AUTHORIZE if name != "x"])
def test_auth_js_sends_no_state_and_is_given_none(library: At, name: str) -> None:
    assert "state" not in library(name).approve(state=None).params


def test_x_shows_its_page_when_there_is_no_state(library: At) -> None:
    answer = httpx.get(library("x").url(state=None), trust_env=False, verify=False, timeout=PATIENCE)

    assert answer.status_code == 400
    assert "Something went wrong" in answer.text


@pytest.mark.parametrize("name", ["google", "github"])
def test_auth_js_compares_iss_with_the_issuer(library: At, name: str) -> None:
    client = library(name)
    path = "/.well-known/openid-configuration" if name == "google" else "/login/oauth/.well-known/openid-configuration"

    told = client.approve().params

    assert told["iss"] == client.get(path).json()["issuer"]


@pytest.mark.parametrize("name", ["facebook", "gitlab", "discord", "apple", "tiktok", "amazon"])
def test_auth_js_is_told_no_iss_where_it_knows_no_issuer(library: At, name: str) -> None:
    assert "iss" not in library(name).approve().params


def test_arctic_puts_the_audience_of_an_apple_secret_into_a_list(library: At) -> None:
    client = library("apple")
    secret = apple_secret(client.client, ["https://appleid.apple.com"])

    answer = client.redeem(client.approve().params["code"], client_secret=secret)

    assert answer.json()["id_token"]


def test_apple_ignores_a_basic_header(library: At) -> None:
    client = library("apple")

    answer = client.by_header(
        client.approve().params["code"], f"{client.client.client_id}:{apple_secret(client.client)}"
    )

    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_client"})


def test_goth_checks_the_at_hash_of_an_apple_id_token(library: At) -> None:
    client = library("apple")

    token = client.redeem(client.approve().params["code"]).json()

    claims = jwt.decode(token["id_token"], options={"verify_signature": False})
    half = sha256(token["access_token"].encode()).digest()[:16]
    assert claims["at_hash"] == urlsafe_b64encode(half).rstrip(b"=").decode()


@pytest.mark.parametrize("name", ["tiktok", "apple", "google", "facebook"])
def test_better_auth_sends_a_verifier_without_a_challenge(library: At, name: str) -> None:
    client = library(name)

    answer = client.redeem(client.approve().params["code"], code_verifier=VERIFIER)

    assert "access_token" in answer.json()


def test_better_auth_asks_discord_with_an_encoded_at_sign(library: At) -> None:
    client = library("discord")
    token = client.redeem(client.approve().params["code"]).json()["access_token"]

    assert client.get("/api/users/%40me", token).json()["global_name"] == "Rhea Quill"


def test_goth_and_kratos_ask_discord_to_skip_the_page_after_an_approval(library: At, browser: Browser) -> None:
    client = library("discord")
    first = client.approve(prompt="none")

    again = browser.open(client.url(prompt="none"))

    assert first.params["code"] != again.params["code"]


def test_better_auth_asks_facebook_about_the_token_before_it_uses_it(library: At) -> None:
    client = library("facebook")
    token = client.redeem(client.approve().params["code"]).json()["access_token"]
    own = f"{client.client.client_id}|{client.client.client_secret}"

    told = client.get("/debug_token", params={"input_token": token, "access_token": own}).json()["data"]

    assert (told["is_valid"], told["app_id"]) == (True, client.client.client_id)


@pytest.mark.parametrize("version", ["", "/v3.2", "/v16.0", "/v24.0"])
def test_each_library_calls_a_different_version_of_facebook(library: At, version: str) -> None:
    client = library("facebook")

    token = client.redeem(client.approve().params["code"], path=f"{version}/oauth/access_token").json()

    assert client.get(f"{version}/me", token["access_token"]).json()["name"] == "Rhea Quill"


@pytest.mark.parametrize(
    ("accept", "kind"), [("*/*", "application/x-www-form-urlencoded"), ("application/json", "application/json")]
)
def test_github_answers_with_a_form_unless_json_is_requested(library: At, accept: str, kind: str) -> None:
    client = library("github")

    answer = client.redeem(client.approve().params["code"], headers={"accept": accept})

    assert answer.headers["content-type"].startswith(kind)
    read = answer.json() if kind.endswith("json") else {name: only for name, (only,) in parse_qs(answer.text).items()}
    assert (read["scope"], read["token_type"]) == ("user:email", "bearer")


def test_github_refuses_requests_without_a_user_agent(library: At) -> None:
    client = library("github")
    token = client.redeem(client.approve().params["code"]).json()["access_token"]

    answer = client.get("/user", token, headers={"user-agent": ""})

    assert answer.status_code == 403
    assert "User-Agent" in answer.text


@pytest.mark.parametrize("path", ["/token", "/oauth2/v4/token", "/oauth2/v3/token", "/o/oauth2/token"])
def test_each_library_calls_a_different_token_endpoint_of_google(library: At, path: str) -> None:
    client = library("google")

    assert client.redeem(client.approve().params["code"], path=path).json()["id_token"]


def test_a_code_of_google_that_was_not_decoded_is_malformed(library: At) -> None:
    client = library("google")
    code = client.approve().params["code"]

    answer = client.redeem(quote(code, safe=""))

    assert answer.json() == {"error": "invalid_grant", "error_description": "Malformed auth code."}
    assert "/" in code


def test_allauth_verifies_with_the_certificates_of_google(library: At) -> None:
    client = library("google")
    id_token = client.redeem(client.approve().params["code"]).json()["id_token"]

    pem = client.get("/oauth2/v1/certs").json()[jwt.get_unverified_header(id_token)["kid"]]

    key: Any = load_pem_x509_certificate(pem.encode()).public_key()
    claims = jwt.decode(id_token, key, ["RS256"], audience=client.client.client_id)
    assert claims["email"] == "rhea@example.com"


def test_httpx_oauth_asks_the_people_api_for_the_address(library: At) -> None:
    """httpx-oauth does not request `openid`, and uses `resourceName` as the user's id."""
    google = library("google")
    scope = "https://www.googleapis.com/auth/userinfo.profile https://www.googleapis.com/auth/userinfo.email"
    token = google.redeem(google.approve(scope=scope).params["code"]).json()["access_token"]

    person = google.get("/v1/people/me", token, params={"personFields": "emailAddresses"}).json()

    (address,) = person["emailAddresses"]
    assert person["resourceName"].startswith("people/")
    assert (address["value"], address["metadata"]["primary"]) == ("rhea@example.com", True)


def test_better_auth_asks_tiktok_for_the_profile_and_reads_the_basic_one_too(library: At) -> None:
    tiktok = library("tiktok")
    token = tiktok.redeem(tiktok.approve(scope="user.info.profile").params["code"]).json()["access_token"]

    fields = "open_id,avatar_large_url,display_name,username"
    answer = tiktok.get("/v2/user/info/", token, params={"fields": fields})

    assert answer.status_code == 200
    assert answer.json()["data"]["user"]["display_name"] == "Rhea Quill"


def test_auth_js_sends_tiktok_both_names_of_the_client(library: At) -> None:
    client = library("tiktok")

    code = client.approve(client_id="whatever").params["code"]

    assert client.redeem(code, client_id="whatever").json()["open_id"]


def test_arctic_sends_tiktok_a_challenge_in_base64url(library: At) -> None:
    client = library("tiktok")

    code = client.approve(code_challenge=s256(VERIFIER), code_challenge_method="S256").params["code"]

    assert client.redeem(code, code_verifier=VERIFIER).json()["open_id"]


def test_tiktoks_code_is_decoded_once(library: At) -> None:
    client = library("tiktok")
    called = client.approve()

    assert {"*", "!"} <= set(called.params["code"])
    assert unquote(called.params["code"]) == called.params["code"]
    assert called.params["scopes"] == "user.info.basic"


def test_x_takes_a_short_verifier_and_the_method_in_any_case(library: At) -> None:
    client = library("x")
    code = client.approve(code_challenge=s256("v" * 32), code_challenge_method="s256").params["code"]

    answer = client.by_header(code, f"{client.client.client_id}:{client.client.client_secret}", code_verifier="v" * 32)

    assert answer.json()["token_type"] == "bearer"


def test_the_preset_of_spring_is_refused_at_x_because_the_secret_is_in_the_form(library: At) -> None:
    client = library("x")
    code = client.approve(code_challenge=s256(VERIFIER), code_challenge_method="S256").params["code"]

    answer = client.redeem(code, code_verifier=VERIFIER)

    told = {"error": "unauthorized_client", "error_description": "Missing valid authorization header"}
    assert (answer.status_code, answer.json()) == (401, told)


def test_better_auth_asks_x_twice_for_the_person(library: At) -> None:
    client = library("x")
    request = {"code_challenge": s256(VERIFIER), "code_challenge_method": "S256"}
    code = client.approve(scope="users.read tweet.read users.email", **request).params["code"]
    basic = f"{client.client.client_id}:{client.client.client_secret}"
    token = client.by_header(code, basic, code_verifier=VERIFIER).json()["access_token"]

    picture, address = (
        client.get("/2/users/me", token, params={"user.fields": field}).json()["data"]
        for field in ("profile_image_url", "confirmed_email")
    )

    assert picture.keys() == {"id", "name", "username", "profile_image_url"}
    assert address["confirmed_email"] == "rhea@example.com"


def test_kratos_has_a_header_of_its_own_for_amazon(library: At) -> None:
    client = library("amazon")
    token = client.redeem(client.approve().params["code"]).json()["access_token"]

    answer = client.get("/user/profile", headers={"x-amz-access-token": token})

    assert answer.json()["email"] == "rhea@example.com"


def test_amazon_takes_a_challenge_without_method_for_plain(library: At) -> None:
    client = library("amazon")
    code = client.approve(code_challenge=VERIFIER).params["code"]

    refused = client.redeem(code, code_verifier="x" * 43)
    accepted = client.redeem(code, code_verifier=VERIFIER)

    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    assert accepted.json()["token_type"] == "bearer"


def test_a_public_application_logs_in_at_discord_with_pkce_alone(library: At) -> None:
    client = library("discord", client_id="2345678901234567890", client_secret="")
    code = client.approve(code_challenge=s256(VERIFIER), code_challenge_method="S256").params["code"]

    assert client.redeem(code, client_secret=None, code_verifier=VERIFIER).json()["access_token"]


def test_discord_puts_the_audience_of_an_id_token_into_a_list(library: At) -> None:
    client = library("discord")
    code = client.approve(scope="identify email openid").params["code"]

    id_token = client.redeem(code).json()["id_token"]

    assert jwt.decode(id_token, options={"verify_signature": False})["aud"] == [client.client.client_id]


@pytest.mark.parametrize("name", TOKEN)
def test_authlib_names_a_charset_in_the_content_type(library: At, name: str) -> None:
    client = library(name)
    pkce = {"code_challenge": s256(VERIFIER), "code_challenge_method": "S256"} if name == "x" else {}
    code = client.approve(**pkce).params["code"]
    headers = {"content-type": "application/x-www-form-urlencoded;charset=UTF-8"}
    if name == "x":
        basic = f"{client.client.client_id}:{client.client.client_secret}"
        headers["authorization"] = f"Basic {b64encode(basic.encode()).decode()}"

    answer = client.redeem(code, headers=headers, code_verifier=VERIFIER)

    assert "access_token" in answer.json()
    assert answer.headers["cache-control"] == "no-store"
