"""Tests of logins, refusals and denials with the backends of social-auth-core."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from social_core.exceptions import AuthResponseError, SocialAuthBaseException
from tests.oauth.clients.browser import Browser

if TYPE_CHECKING:
    import httpx
    from tests.oauth.clients.psa.site import Site

    MakeSite = Callable[..., Site]

BACKENDS = [
    *("google-oauth2", "google-openidconnect", "facebook", "github", "gitlab", "discord"),
    *("apple-id", "twitter-oauth2", "amazon"),
]
EVERY = pytest.mark.parametrize("backend", BACKENDS)
NAMING = ["google-oauth2", "google-openidconnect", "facebook", "github", "gitlab", "twitter-oauth2", "amazon"]
"""The backends that read a full name."""

CLIENT_REFUSED = {
    "facebook": ("AuthProviderError", 1, 400),
    "github": ("AuthProviderError", "incorrect_client_credentials", None),
    "apple-id": ("AuthConfigurationError", "invalid_client", 400),
    "twitter-oauth2": ("AuthConfigurationError", "unauthorized_client", 401),
}
"""The outcome of a wrong secret, for backends whose status is not 401.

Each outcome is the exception of the backend, the error code of the provider, and the status.
"""

CODE_REFUSED = {
    "facebook": ("AuthProviderError", 100, 400),
    "github": ("AuthCredentialError", "bad_verification_code", None),
    "twitter-oauth2": ("AuthConfigurationError", "invalid_request", 400),
}
"""The outcome of a used code.

Each outcome is the exception of the backend, the error code of the provider, and the status.
"""

REFRESHING = {
    "google-oauth2": {"AUTH_EXTRA_ARGUMENTS": {"access_type": "offline"}},
    "google-openidconnect": {"AUTH_EXTRA_ARGUMENTS": {"access_type": "offline", "prompt": "consent"}},
    "facebook": {},
    "gitlab": {},
    "discord": {},
    "amazon": {},
}
RENEWING = {"gitlab", "discord", "amazon"}


def details(site: Site, said: dict[str, Any]) -> dict[str, Any]:
    """Return the person's data that the backend extracts from the provider's response."""
    read: dict[str, Any] = site.backend().get_user_details(said)
    return read


def refusal(error: SocialAuthBaseException) -> tuple[str, Any, Any]:
    return type(error).__name__, error.provider_code, error.status_code


@EVERY
def test_a_login_brings_the_person(make_site: MakeSite, browser: Browser, backend: str) -> None:
    site = make_site(backend)

    said = site.log_in(browser)

    assert site.backend().get_user_id(details(site, said), said)
    assert details(site, said).get("email") == (None if backend == "twitter-oauth2" else "rhea@example.com")
    assert said["access_token"]


@pytest.mark.parametrize(
    ("person", "name"),
    [("emoji", "Zoë 🦄 Åström 👩🏽‍🚀"), ("rtl", "ليلى منصور"), ("script", "<script>alert('name')</script>")],
)
@pytest.mark.parametrize("naming", NAMING)
def test_a_hostile_name_arrives_unchanged(
    make_site: MakeSite, browser: Browser, naming: str, person: str, name: str
) -> None:
    site = make_site(naming)

    said = site.log_in(browser, person)

    assert details(site, said)["fullname"] == name


def test_apple_tells_the_name_at_the_first_login_only(make_site: MakeSite, browser: Browser) -> None:
    site = make_site("apple-id")

    first, second = site.log_in(browser, "omar"), site.log_in(browser, "omar")

    assert first["sub"] == second["sub"]
    assert (first["_apple_user_name"], second["_apple_user_name"]) == (
        {"firstName": "Omar", "lastName": "Haddad"},
        {},
    )


@EVERY
def test_the_same_person_has_the_same_id_and_another_person_another(
    make_site: MakeSite, browser: Browser, lab: httpx.Client, backend: str
) -> None:
    site = make_site(backend)
    lab.put("/switches/gitlab.remember-approval", json={"on": False})

    first, again, other = (site.log_in(browser, person) for person in ("rhea", "rhea", "twin"))

    key = site.backend().id_key()
    assert first[key] == again[key] != other[key]


@pytest.mark.parametrize("name", ["google-oauth2", "google-openidconnect"])
@pytest.mark.parametrize(("person", "code"), [("noemail", "missing_claim"), ("unverified", "invalid_claim")])
def test_google_without_a_verified_address_is_refused(
    make_site: MakeSite, browser: Browser, name: str, person: str, code: str
) -> None:
    site = make_site(name)

    with pytest.raises(AuthResponseError) as refused:
        site.log_in(browser, person)

    assert (refused.value.code, refused.value.claim) == (code, "email_verified")


@EVERY
def test_a_wrong_secret_is_refused(make_site: MakeSite, browser: Browser, backend: str) -> None:
    site = make_site(backend, **({"TEAM": "WRONGTEAM0"} if backend == "apple-id" else {"SECRET": "wrong"}))

    with pytest.raises(SocialAuthBaseException) as refused:
        site.log_in(browser)

    expected = CLIENT_REFUSED.get(backend, ("AuthConfigurationError", "invalid_client", 401))
    assert refusal(refused.value) == expected


@EVERY
def test_a_denial_is_told(make_site: MakeSite, browser: Browser, backend: str) -> None:
    site = make_site(backend)

    with pytest.raises(SocialAuthBaseException) as refused:
        site.complete(browser.deny(site.backend().auth_url()))

    # social-auth-core treats Apple's own code for a denial like any other error, with the real Apple too.
    told = (
        ("AuthProviderError", "user_cancelled_authorize")
        if backend == "apple-id"
        else ("AuthCanceled", "access_denied")
    )
    assert refusal(refused.value)[:2] == told


@EVERY
def test_a_code_that_was_used_is_refused(make_site: MakeSite, browser: Browser, backend: str) -> None:
    site = make_site(backend)
    used = browser.approve(site.backend().auth_url())
    with Browser() as another:  # the first browser may have its approval remembered
        fresh = another.approve(site.backend().auth_url())
    site.complete(used)

    with pytest.raises(SocialAuthBaseException) as refused:
        site.complete(fresh._replace(params=fresh.params | {"code": used.params["code"]}))

    assert refusal(refused.value) == CODE_REFUSED.get(backend, ("AuthCredentialError", "invalid_grant", 400))


@pytest.mark.parametrize("name", REFRESHING)
def test_a_refresh_brings_another_token(make_site: MakeSite, browser: Browser, name: str) -> None:
    site = make_site(name, **REFRESHING[name])
    first = site.log_in(browser, "omar")
    token = first["access_token" if name == "facebook" else "refresh_token"]

    second = site.backend().refresh_token(token)

    assert second["access_token"] != first["access_token"]
    assert second.get("refresh_token") != token
    assert ("refresh_token" in second) == (name in RENEWING)


def test_x_refuses_a_refresh_without_the_header_which_its_backend_leaves_out(
    make_site: MakeSite, browser: Browser
) -> None:
    site = make_site("twitter-oauth2", SCOPE=["offline.access"])
    said = site.log_in(browser)

    with pytest.raises(SocialAuthBaseException) as refused:
        site.backend().refresh_token(said["refresh_token"])

    assert refusal(refused.value) == ("AuthConfigurationError", "unauthorized_client", 401)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("google-oauth2", ("AuthConfigurationError", "invalid_request", 401)),
        ("facebook", ("AuthProviderError", 190, 400)),
    ],
)
def test_a_revoked_token_opens_nothing(
    make_site: MakeSite, browser: Browser, name: str, told: tuple[str, Any, Any]
) -> None:
    site = make_site(name)
    said = site.log_in(browser)
    backend = site.backend()
    assert backend.user_data(said["access_token"])

    backend.revoke_token(said["access_token"], said.get("id"))

    with pytest.raises(SocialAuthBaseException) as refused:
        backend.user_data(said["access_token"])
    assert refusal(refused.value) == told


def test_discord_refuses_the_get_by_which_its_backend_revokes(make_site: MakeSite, browser: Browser) -> None:
    site = make_site("discord")
    said = site.log_in(browser)

    with pytest.raises(SocialAuthBaseException) as refused:
        site.backend().revoke_token(said["access_token"], said["id"])

    assert refusal(refused.value) == ("AuthProviderError", None, 405)
    assert site.backend().user_data(said["access_token"])["id"] == said["id"]
