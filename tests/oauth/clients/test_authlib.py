"""Tests of Authlib with every provider. Authlib's settings are those for the real provider, except the base address."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import httpx
import msgspec
import pytest
from authlib.deprecate import AuthlibDeprecationWarning  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from chatkey_oauth.engine.pkce import s256
from chatkey_oauth.ready_made import apple_p8
from chatkey_stack.patience import PATIENCE

# The import above enabled Authlib's warnings globally. This one recommends httpx2, but httpx is pinned.
warnings.filterwarnings("ignore", "The httpx module is deprecated", AuthlibDeprecationWarning)

from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped]  # noqa: E402
from authlib.integrations.httpx_client import OAuth2Client  # type: ignore[import-untyped]  # noqa: E402
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]  # noqa: E402

if TYPE_CHECKING:
    from tests.oauth.clients.browser import Browser

    from chatkey_oauth.engine.clients import Client

    MakeLogin = Callable[..., "Login"]

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
NONCE = "n-0S6_WzA2Mj"


class Recipe(NamedTuple):
    authorize: str
    token: str
    profile: str
    scope: str
    method: str = "client_secret_post"
    pkce: bool = True
    extra: dict[str, str] = {}  # noqa: RUF012 - a named tuple's default


RECIPES = {
    "google": Recipe(
        *("/o/oauth2/v2/auth", "/token", "/oauth2/v3/userinfo", "openid email profile"),
        extra={"nonce": NONCE, "access_type": "offline"},
    ),
    "facebook": Recipe(
        *("/v24.0/dialog/oauth", "/v24.0/oauth/access_token", "/v24.0/me?fields=id,name,email"),
        scope="email,public_profile",
        pkce=False,
    ),
    "github": Recipe("/login/oauth/authorize", "/login/oauth/access_token", "/user", "read:user user:email"),
    "gitlab": Recipe(
        *("/oauth/authorize", "/oauth/token", "/oauth/userinfo", "openid email profile", "client_secret_basic"),
        extra={"nonce": NONCE},
    ),
    "discord": Recipe("/api/oauth2/authorize", "/api/oauth2/token", "/api/users/@me", "identify email"),
    "apple": Recipe(
        *("/auth/authorize", "/auth/token", "", "name email"),
        pkce=False,
        extra={"nonce": NONCE, "response_mode": "form_post"},
    ),
    "x": Recipe(
        *("/i/oauth2/authorize", "/2/oauth2/token", "/2/users/me?user.fields=confirmed_email"),
        scope="users.read tweet.read users.email offline.access",
        method="client_secret_basic",
    ),
    "tiktok": Recipe(
        *("/v2/auth/authorize/", "/v2/oauth/token/", "/v2/user/info/?fields=open_id,display_name"),
        scope="user.info.basic",
        method="none",
        pkce=False,
    ),
    "amazon": Recipe("/ap/oa", "/auth/o2/token", "/user/profile", "profile"),
}
EVERY = pytest.mark.parametrize("name", RECIPES)
REFRESHING = ("google", "gitlab", "discord", "apple", "x", "tiktok", "amazon")
SIGNING = {"google": "/oauth2/v3/certs", "gitlab": "/oauth/discovery/keys", "apple": "/auth/keys"}
REVOKING = {
    "google": "/revoke",
    "gitlab": "/oauth/revoke",
    "discord": "/api/oauth2/token/revoke",
    "x": "/2/oauth2/revoke",
    "tiktok": "/v2/oauth/revoke/",
}
REFUSED = {
    "facebook": "OAuthException",
    "github": "incorrect_client_credentials",
    "x": "unauthorized_client",
}
"""The error code for a wrong secret, for providers that do not use `invalid_client`."""


class Login:
    """One login with a new Authlib client. A client remembers the grant type, so two logins cannot share a client."""

    def __init__(self, name: str, base: str, client: Client, callback: str, secret: str) -> None:
        self.name = name
        self.base = base
        self.client = client
        self.recipe = RECIPES[name]
        self.own = {"client_key": client.client_id, "client_secret": secret} if name == "tiktok" else {}
        self.verifier = VERIFIER if self.recipe.pkce else None
        self.oauth: Any = OAuth2Client(
            client.client_id,
            secret,
            token_endpoint_auth_method=self.recipe.method,
            scope=self.recipe.scope,
            redirect_uri=callback,
            code_challenge_method="S256" if self.recipe.pkce else None,
            revocation_endpoint_auth_method=self.recipe.method,
            trust_env=False,
            verify=False,  # nothing here speaks TLS, and reading the CA bundle takes longer than a login
        )

    def url(self, **extra: str) -> str:
        named = {"client_key": self.client.client_id} if self.own else {}
        url, _ = self.oauth.create_authorization_url(
            self.base + self.recipe.authorize, code_verifier=self.verifier, **self.recipe.extra, **named, **extra
        )
        return str(url)

    def redeem(self, code: str, **extra: str) -> dict[str, Any]:
        verifier = {"code_verifier": self.verifier} if self.verifier else {}
        token: dict[str, Any] = self.oauth.fetch_token(
            self.base + self.recipe.token,
            grant_type="authorization_code",
            code=code,
            **verifier,
            **self.own,
            **extra,
        )
        return token

    def profile(self) -> Any:
        return self.oauth.get(self.base + self.recipe.profile).raise_for_status().json()

    def claims(self, id_token: str) -> CodeIDToken:
        """Return the claims of the id_token, verified with the provider's published keys."""
        keys = KeySet.import_key_set(
            httpx.get(self.base + SIGNING[self.name], trust_env=False, verify=False, timeout=PATIENCE).json()
        )
        decoded = jwt.decode(id_token, keys, algorithms=["RS256"])
        options = {"iss": {"values": [self.base]}, "aud": {"values": [self.client.client_id]}}
        claims = CodeIDToken(decoded.claims, decoded.header, options, {"nonce": NONCE})
        claims.validate(leeway=120)
        return claims


def apple_secret(client: Client) -> str:
    """Return an Apple client secret that is valid for ten minutes."""
    now = int(time.time())
    return jwt.encode(
        {"alg": "ES256", "kid": client.key_id},
        {
            "iss": client.team_id,
            "iat": now,
            "exp": now + 600,
            "aud": "https://appleid.apple.com",
            "sub": client.client_id,
        },
        ECKey.import_key(apple_p8()),
        algorithms=["ES256"],
    )


@pytest.fixture
def make_login(
    address: str, lab: httpx.Client, application: Callable[[str], Client], callback: str
) -> Iterator[MakeLogin]:
    """Return a function that begins a login. `secret` and `client` replace the application's secret and id."""
    made: list[Login] = []

    def make(name: str, *, secret: str | None = None, client: Client | None = None) -> Login:
        client = client or application(name)
        good = apple_secret(client) if name == "apple" else client.client_secret
        made.append(Login(name, f"{address}/{name}", client, callback, good if secret is None else secret))
        return made[-1]

    yield make
    for login in made:
        login.oauth.close()


def words(value: Any) -> set[str]:
    """Return every string in a JSON value, including nested objects."""
    if isinstance(value, dict):
        return set().union(*map(words, value.values()))
    return {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "apple"])
@pytest.mark.parametrize(
    ("person", "called"), [("rhea", "Rhea Quill"), ("rtl", "ليلى منصور"), ("script", "<script>alert('name')</script>")]
)
def test_authlib_logs_in(make_login: MakeLogin, browser: Browser, name: str, person: str, called: str) -> None:
    login = make_login(name)

    login.redeem(browser.approve(login.url(), person).params["code"])

    assert called in words(login.profile())


@pytest.mark.parametrize("name", SIGNING)
def test_authlib_verifies_the_id_token(make_login: MakeLogin, browser: Browser, name: str) -> None:
    login = make_login(name)

    token = login.redeem(browser.approve(login.url()).params["code"])

    claims = login.claims(token["id_token"])
    assert (claims["email"], claims["nonce"]) == ("rhea@example.com", NONCE)
    assert claims["email_verified"] in {True, "true"}


@EVERY
def test_authlib_is_refused_with_a_wrong_secret(make_login: MakeLogin, browser: Browser, name: str) -> None:
    login = make_login(name, secret="wrong")
    code = browser.approve(login.url()).params["code"]

    with pytest.raises(OAuthError) as refused:
        login.redeem(code)

    error: Any = refused.value.error
    assert (error["type"] if isinstance(error, dict) else error) == REFUSED.get(name, "invalid_client")


@EVERY
def test_a_code_that_was_used_is_refused(make_login: MakeLogin, browser: Browser, name: str) -> None:
    first, second = make_login(name), make_login(name)
    code = browser.approve(first.url()).params["code"]
    assert first.redeem(code)["access_token"]

    with pytest.raises(OAuthError) as refused:
        second.redeem(code)

    error: Any = refused.value.error
    expected = {"facebook": 100, "github": "bad_verification_code", "x": "invalid_request"}
    assert (error["code"] if isinstance(error, dict) else error) == expected.get(name, "invalid_grant")


@EVERY
def test_a_denial_comes_back_with_the_state_and_without_a_code(
    make_login: MakeLogin, browser: Browser, name: str
) -> None:
    login = make_login(name)

    told = browser.deny(login.url(state="st-1"))

    error = "user_cancelled_authorize" if name == "apple" else "access_denied"
    assert (told.params["error"], told.params["state"], "code" in told.params) == (error, "st-1", False)
    assert told.method == ("POST" if name == "apple" else "GET")


@pytest.mark.parametrize("name", REFRESHING)
def test_authlib_refreshes(make_login: MakeLogin, browser: Browser, name: str) -> None:
    login = make_login(name)
    first = login.redeem(browser.approve(login.url()).params["code"])

    second = login.oauth.refresh_token(
        login.base + login.recipe.token, refresh_token=first["refresh_token"], **login.own
    )

    assert second["access_token"] != first["access_token"]
    renews = name in {"gitlab", "discord", "x", "tiktok", "amazon"}
    assert (second.get("refresh_token", first["refresh_token"]) != first["refresh_token"]) == renews


@pytest.mark.parametrize("name", REVOKING)
def test_a_revoked_token_opens_nothing(make_login: MakeLogin, browser: Browser, name: str) -> None:
    login = make_login(name)
    token = login.redeem(browser.approve(login.url()).params["code"])
    assert login.profile()

    login.oauth.revoke_token(login.base + REVOKING[name], token["access_token"], body=urlencode(login.own))

    assert login.oauth.get(login.base + login.recipe.profile).status_code == 401


@pytest.mark.parametrize(("challenge", "accepted"), [("hex", True), ("base64url", False)])
def test_a_desktop_application_at_tiktok_sends_its_challenge_in_hex(
    *,
    make_login: MakeLogin,
    browser: Browser,
    lab: httpx.Client,
    application: Callable[[str], Client],
    challenge: str,
    accepted: bool,
) -> None:
    desktop = msgspec.structs.replace(application("tiktok"), client_id="awdesktop", kind="desktop")
    lab.post("/clients", json=msgspec.to_builtins(desktop)).raise_for_status()
    login = make_login("tiktok", client=desktop)
    sent = sha256(VERIFIER.encode()).hexdigest() if challenge == "hex" else s256(VERIFIER)
    code = browser.approve(login.url(code_challenge=sent, code_challenge_method="S256")).params["code"]

    if accepted:
        assert login.redeem(code, code_verifier=VERIFIER)["access_token"]
    else:
        with pytest.raises(OAuthError, match="Code verifier or code challenge is invalid"):
            login.redeem(code, code_verifier=VERIFIER)
