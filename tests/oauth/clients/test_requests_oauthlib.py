"""Tests of requests-oauthlib. This library compares the granted scopes with the requested scopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from requests_oauthlib import OAuth2Session  # type: ignore[import-untyped]
from requests_oauthlib.compliance_fixes import facebook_compliance_fix  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from tests.oauth.clients.browser import Browser

    from chatkey_oauth.engine.clients import Client

URLS = "https://www.googleapis.com/auth/userinfo"


class Recipe(NamedTuple):
    authorize: str
    token: str
    profile: str
    scope: list[str]
    fix: Callable[[OAuth2Session], OAuth2Session] = lambda session: session


RECIPES = {
    "google": Recipe(
        *("/o/oauth2/v2/auth", "/token", "/oauth2/v1/userinfo", ["openid", f"{URLS}.email", f"{URLS}.profile"])
    ),
    "facebook": Recipe(
        *("/dialog/oauth", "/oauth/access_token", "/me?fields=name,email", ["email"]), fix=facebook_compliance_fix
    ),
    "gitlab": Recipe("/oauth/authorize", "/oauth/token", "/api/v4/user", ["read_user"]),
    "discord": Recipe("/api/oauth2/authorize", "/api/oauth2/token", "/api/users/@me", ["identify", "email"]),
    "amazon": Recipe("/ap/oa", "/auth/o2/token", "/user/profile", ["profile"]),
    "github": Recipe("/login/oauth/authorize", "/login/oauth/access_token", "/user/emails", ["user:email"]),
}


@pytest.mark.parametrize("provider", RECIPES)
def test_an_address_is_told(  # noqa: PLR0917 - fixtures
    address: str,
    browser: Browser,
    application: Callable[[str], Client],
    callback: str,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    recipe, base, client = RECIPES[provider], f"{address}/{provider}", application(provider)
    with OAuth2Session(client.client_id, scope=recipe.scope, redirect_uri=callback) as session:
        oauth = recipe.fix(session)

        url, state = oauth.authorization_url(base + recipe.authorize)
        called = browser.approve(url)
        oauth.fetch_token(base + recipe.token, code=called.params["code"], client_secret=client.client_secret)
        profile: Any = oauth.get(base + recipe.profile).json()

    assert called.params["state"] == state
    person = profile[0] if provider == "github" else profile
    assert person["email"] == "rhea@example.com"
