"""Tests that social-auth-core's backends send the requests that were recorded at an independent fake provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from social_core.exceptions import AuthProviderError

if TYPE_CHECKING:
    from tests.oauth.clients.browser import Browser
    from tests.oauth.clients.psa.site import Site

    MakeSite = Callable[..., Site]
    Traffic = Callable[..., list[dict[str, Any]]]

TOKEN_FORM = {"client_id", "client_secret", "code", "grant_type", "redirect_uri"}
BY_FORM = {
    "google-oauth2": "/token",
    "github": "/access_token",
    "gitlab": "/oauth/token",
    "discord": "/token",
    "apple-id": "/auth/token",
    "amazon": "/token",
}
BY_BASIC = {
    "google-openidconnect": ("/token", {"code", "grant_type", "redirect_uri"}),
    "twitter-oauth2": ("/token", {"code", "code_verifier", "grant_type", "redirect_uri"}),
}
AUTHORIZE = {"client_id", "redirect_uri", "response_type", "scope", "state"}
AUTHORIZE_OF = {
    "google-oauth2": AUTHORIZE,
    "google-openidconnect": AUTHORIZE | {"nonce"},
    "facebook": AUTHORIZE - {"response_type"} | {"return_scopes"},
    "github": AUTHORIZE,
    "gitlab": AUTHORIZE,
    "discord": AUTHORIZE,
    "apple-id": AUTHORIZE | {"response_mode"},
    "twitter-oauth2": AUTHORIZE | {"code_challenge", "code_challenge_method"},
    "amazon": AUTHORIZE,
}


@pytest.mark.parametrize("backend", AUTHORIZE_OF)
def test_an_authorization_request_has_these_parameters(
    make_site: MakeSite, browser: Browser, traffic: Traffic, backend: str
) -> None:
    site = make_site(backend)

    site.log_in(browser)

    request = traffic(site.recipe.provider)[0]
    assert (request["method"], set(request["query"])) == ("GET", AUTHORIZE_OF[backend])


@pytest.mark.parametrize("backend", BY_FORM)
def test_a_token_request_is_a_form_with_the_secret_in_it(
    make_site: MakeSite, browser: Browser, traffic: Traffic, backend: str
) -> None:
    site = make_site(backend)

    site.log_in(browser)

    (request,) = traffic(site.recipe.provider, BY_FORM[backend])
    assert (request["method"], set(request["form"]), request["query"]) == ("POST", TOKEN_FORM, {})
    assert (request["authorization"], request["status"]) == ("", 200)
    assert request["headers"]["user-agent"] == "social-auth-7.0.0"


@pytest.mark.parametrize("backend", BY_BASIC)
def test_a_token_request_has_the_secret_in_its_header(
    make_site: MakeSite, browser: Browser, traffic: Traffic, backend: str
) -> None:
    site = make_site(backend)
    ending, form = BY_BASIC[backend]

    site.log_in(browser)

    (request,) = traffic(site.recipe.provider, ending)
    assert (request["method"], set(request["form"])) == ("POST", form)
    assert request["authorization"].startswith(f"Basic {site.client.client_id}:[")


def test_facebook_is_asked_for_a_token_by_get_and_without_grant_type(
    make_site: MakeSite, browser: Browser, traffic: Traffic
) -> None:
    make_site("facebook").log_in(browser)

    (request,) = traffic("facebook", "/access_token")
    assert (request["method"], set(request["query"])) == ("GET", TOKEN_FORM - {"grant_type"})
    (profile,) = traffic("facebook", "/me")
    assert set(profile["query"]) == {"access_token", "appsecret_proof", "fields"}


def test_facebook_refuses_a_proof_made_with_another_secret(make_site: MakeSite, browser: Browser) -> None:
    site = make_site("facebook")
    said = site.log_in(browser)
    site.strategy.settings = {**site.strategy.settings, "SECRET": "another"}

    with pytest.raises(AuthProviderError) as refused:
        site.backend().user_data(said["access_token"])

    assert (refused.value.provider_code, refused.value.status_code) == (100, 400)


@pytest.mark.parametrize("backend", ["gitlab", "amazon"])
def test_a_profile_is_asked_for_with_the_token_in_the_address(
    make_site: MakeSite, browser: Browser, traffic: Traffic, backend: str
) -> None:
    site = make_site(backend)

    site.log_in(browser)

    request = traffic(site.recipe.provider)[-1]
    assert (set(request["query"]), request["authorization"], request["status"]) == ({"access_token"}, "", 200)


def test_github_is_asked_with_the_scheme_token(make_site: MakeSite, browser: Browser, traffic: Traffic) -> None:
    make_site("github").log_in(browser)

    user, emails = traffic("github")[-2:]
    assert [user["path"], emails["path"]] == ["/user", "/user/emails"]
    assert {user["authorization"][:7], emails["authorization"][:7]} == {"token ["}


def test_x_is_sent_the_method_in_lower_case(make_site: MakeSite, browser: Browser, traffic: Traffic) -> None:
    make_site("twitter-oauth2").log_in(browser)

    assert traffic("x", "/authorize")[0]["query"]["code_challenge_method"] == "s256"


def test_apple_is_asked_for_a_form_and_its_keys_are_fetched(
    make_site: MakeSite, browser: Browser, traffic: Traffic
) -> None:
    make_site("apple-id").log_in(browser)

    assert traffic("apple", "/auth/authorize")[0]["query"]["response_mode"] == "form_post"
    assert [entry["status"] for entry in traffic("apple", "/auth/keys")] == [200]
