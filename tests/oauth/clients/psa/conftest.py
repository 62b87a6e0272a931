"""Fixtures for tests of social-auth-core."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

with warnings.catch_warnings():
    # Its OpenID 1 part, which nothing here uses, imports a deprecated module.
    warnings.filterwarnings("ignore", "defusedxml.cElementTree is deprecated", DeprecationWarning)
    from social_core.backends.amazon import AmazonOAuth2
    from social_core.backends.apple import AppleIdAuth
    from social_core.backends.discord import DiscordOAuth2
    from social_core.backends.facebook import FacebookOAuth2
    from social_core.backends.github import GithubOAuth2
    from social_core.backends.gitlab import GitLabOAuth2
    from social_core.backends.google import GoogleOAuth2
    from social_core.backends.google_openidconnect import GoogleOpenIdConnect
    from social_core.backends.twitter_oauth2 import TwitterOAuth2

from tests.oauth.clients.psa.site import Recipe, Site

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client


def paths(authorize: str, token: str) -> dict[str, Any]:
    """Return the two settings that every backend has."""
    return {"AUTHORIZATION_URL": f"{{p}}{authorize}", "ACCESS_TOKEN_URL": f"{{p}}{token}"}


GOOGLE = paths("/o/oauth2/auth", "/o/oauth2/token")
RECIPES = {
    "google-oauth2": Recipe("google", GoogleOAuth2, GOOGLE, {"REVOKE_TOKEN_URL": "{p}/o/oauth2/revoke"}),
    "google-openidconnect": Recipe(
        "google",
        GoogleOpenIdConnect,
        {"OIDC_ENDPOINT": "{p}", **GOOGLE},
        {"ID_TOKEN_ISSUER": "{p}", "REVOKE_TOKEN_URL": "{p}/o/oauth2/revoke"},
    ),
    "facebook": Recipe(
        "facebook",
        FacebookOAuth2,
        {
            **paths("/v{version}/dialog/oauth", "/v{version}/oauth/access_token"),
            "SCOPE": ["email"],
            "PROFILE_EXTRA_PARAMS": {"fields": "id,name,email"},
        },
        {"USER_DATA_URL": "{p}/v{version}/me", "REVOKE_TOKEN_URL": "{p}/v{version}/{uid}/permissions"},
    ),
    "github": Recipe(
        "github",
        GithubOAuth2,
        {**paths("/login/oauth/authorize", "/login/oauth/access_token"), "SCOPE": ["user:email"]},
        {"API_URL": "{p}/"},
    ),
    "gitlab": Recipe("gitlab", GitLabOAuth2, {"API_URL": "{p}"}),
    "discord": Recipe(
        "discord",
        DiscordOAuth2,
        {**paths("/api/oauth2/authorize", "/api/oauth2/token"), "SCOPE": ["identify", "email"]},
        {"REVOKE_TOKEN_URL": "{p}/api/oauth2/token/revoke"},
    ),
    "apple-id": Recipe(
        "apple",
        AppleIdAuth,
        {**paths("/auth/authorize", "/auth/token"), "SCOPE": ["name", "email"]},
        {"ID_TOKEN_ISSUER": "{p}"},
    ),
    "twitter-oauth2": Recipe("x", TwitterOAuth2, paths("/i/oauth2/authorize", "/2/oauth2/token")),
    "amazon": Recipe("amazon", AmazonOAuth2, paths("/ap/oa", "/auth/o2/token")),
}


@pytest.fixture
def make_site(
    address: str, application: Callable[[str], Client], callback: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Site]:
    """Return a function that creates a site with a backend. Keyword arguments are added to the settings."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def make(name: str, **settings: Any) -> Site:
        recipe = RECIPES[name]
        return Site(name, recipe, f"{address}/{recipe.provider}", application(recipe.provider), callback, settings)

    return make
