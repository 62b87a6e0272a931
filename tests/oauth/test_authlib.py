"""A real client library logs in at every provider, pointed at the fake by nothing but its base address."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from authlib.deprecate import AuthlibDeprecationWarning  # type: ignore[import-untyped]

# That import switched Authlib's own warnings on for everyone; this one asks for httpx2, and httpx is pinned.
warnings.filterwarnings("ignore", "The httpx module is deprecated", AuthlibDeprecationWarning)

from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped]  # noqa: E402
from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped]  # noqa: E402

if TYPE_CHECKING:
    from chatkey_oauth.app import App

BASE = "https://id.example"
CALLBACK = "https://chat.example/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"


class Recipe(NamedTuple):
    """How Authlib is told to log in at one provider."""

    authorize: str
    token: str
    profile: str
    scope: str
    method: str = "client_secret_post"
    pkce: bool = True


RECIPES = {
    "google": Recipe("/o/oauth2/v2/auth", "/token", "/oauth2/v3/userinfo", "openid email profile"),
    "facebook": Recipe(
        "/v24.0/dialog/oauth",
        "/v24.0/oauth/access_token",
        "/v24.0/me?fields=id,name,email",
        "email,public_profile",
        pkce=False,
    ),
    "github": Recipe("/login/oauth/authorize", "/login/oauth/access_token", "/user", "read:user user:email"),
    "gitlab": Recipe("/oauth/authorize", "/oauth/token", "/api/v4/user", "read_user", "client_secret_basic"),
    "discord": Recipe("/api/oauth2/authorize", "/api/oauth2/token", "/api/users/@me", "identify email"),
}
EVERY = pytest.mark.parametrize("name", RECIPES)


def client(fake: App, recipe: Recipe, secret: str = "ours-secret") -> Any:
    """Authlib's client, talking to the fake without a network."""
    return AsyncOAuth2Client(
        "ours",
        secret,
        token_endpoint_auth_method=recipe.method,
        scope=recipe.scope,
        redirect_uri=CALLBACK,
        code_challenge_method="S256" if recipe.pkce else None,
        transport=httpx.ASGITransport(app=fake),
    )


async def approve(fake: App, url: str, name: str, person: str) -> str:
    """Open the consent page in a browser of its own, send its form, and return the code."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=fake)) as browser:
        page = await browser.get(url)
        assert page.status_code == 200, page.text
        form = {"account": person, "decision": "approve"}
        answer = await browser.post(f"{BASE}/{name}/consent?{urlsplit(url).query}", data=form)
    (code,) = parse_qs(urlsplit(answer.headers["location"]).query)["code"]
    return code


@EVERY
@pytest.mark.parametrize("person", ["rhea", "emoji", "rtl", "script", "long"])
async def test_authlib_logs_in(fake: App, name: str, person: str) -> None:
    recipe, base = RECIPES[name], f"{BASE}/{name}"
    verifier = VERIFIER if recipe.pkce else None

    async with client(fake, recipe) as oauth:
        url, _ = oauth.create_authorization_url(base + recipe.authorize, code_verifier=verifier)
        code = await approve(fake, url, name, person)
        await oauth.fetch_token(base + recipe.token, grant_type="authorization_code", code=code, code_verifier=verifier)
        profile = (await oauth.get(base + recipe.profile)).raise_for_status().json()

    expected = fake.world.people.get(person)
    assert expected is not None
    assert expected.name in profile.values()


@EVERY
async def test_authlib_is_refused_with_a_wrong_secret(fake: App, name: str) -> None:
    recipe, base = RECIPES[name], f"{BASE}/{name}"
    verifier = VERIFIER if recipe.pkce else None

    async with client(fake, recipe, "wrong") as oauth:
        url, _ = oauth.create_authorization_url(base + recipe.authorize, code_verifier=verifier)
        code = await approve(fake, url, name, "rhea")

        with pytest.raises(OAuthError):
            await oauth.fetch_token(
                base + recipe.token, grant_type="authorization_code", code=code, code_verifier=verifier
            )


@pytest.mark.parametrize("name", ["gitlab", "discord"])
async def test_authlib_refreshes(fake: App, name: str) -> None:
    recipe, base = RECIPES[name], f"{BASE}/{name}"

    async with client(fake, recipe) as oauth:
        url, _ = oauth.create_authorization_url(base + recipe.authorize, code_verifier=VERIFIER)
        code = await approve(fake, url, name, "rhea")
        first = await oauth.fetch_token(
            base + recipe.token, grant_type="authorization_code", code=code, code_verifier=VERIFIER
        )
        second = await oauth.refresh_token(base + recipe.token, refresh_token=first["refresh_token"])

    assert second["access_token"] != first["access_token"]
