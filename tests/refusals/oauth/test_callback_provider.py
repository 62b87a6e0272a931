"""Tests of invalid data from the social provider: code, issuer, tokens, profile (OIDC Core, RFC 9700)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from chatkey_oauth.client import Person
from chatkey_stack.applications import Application
from chatkey_stack.lab import SocialKeys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.refusals.kit.shipped import Service
    from tests.refusals.oauth.sign_in import MakeSignIn, Misbehave

    from chatkey_conform.making.honest import Maker
    from chatkey_oauth.client import FakeOAuth

DAY = 86_400


def newest(provider: FakeOAuth) -> int:
    """Return the number of the newest request to any social provider."""
    return max((entry.number for entry in provider.requests()), default=0)


# the code


@pytest.mark.parametrize(
    "social",
    [pytest.param("google", id="OAC-025-google"), pytest.param("github", id="OAC-025-github")],
)
def test_a_code_of_another_login_is_refused(sign_in: MakeSignIn, social: str) -> None:
    attacker, victim = sign_in(social), sign_in(social)
    injected = {**victim.approve(), "code": attacker.approve("omar")["code"]}

    victim.refuse(injected, "oauth_failed")

    claims = sign_in(social).accept()
    assert claims["name"] == "Rhea Quill"


@pytest.mark.row("OAC-025")
def test_a_code_that_pkce_binds_to_this_login_still_needs_its_nonce(sign_in: MakeSignIn) -> None:
    login = sign_in()
    given = login.approve(nonce="the-attackers-nonce")

    page = login.refuse(given, "oauth_failed")

    assert "nonce is not the one of this login" in page.text
    sign_in().accept()


@pytest.mark.row("OAC-025")
def test_a_code_for_another_challenge_is_refused(sign_in: MakeSignIn, make: Maker) -> None:
    login = sign_in()
    challenge = make.b64(hashlib.sha256(b"the-attackers-verifier" * 2).digest())

    page = login.refuse(login.approve(code_challenge=challenge), "oauth_failed")

    assert "invalid_grant" in page.text
    sign_in().accept()


@pytest.fixture
def other_client(provider: FakeOAuth, service: Service) -> Iterator[str]:
    """The client id of another application at the social providers. Both applications have the same callback."""
    client_id = "the-other-client"
    for social in ("google", "github"):
        callback = f"{service.base_url}/v1/public/oauth/{social}/callback"
        provider.add_client(
            social, client_id=client_id, client_secret="the-other-client-secret", redirect_uris=[callback]
        )
    yield client_id
    for social in ("google", "github"):
        provider.remove_client(social, client_id)


@pytest.mark.parametrize(
    "social",
    [pytest.param("google", id="OAC-027-google"), pytest.param("github", id="OAC-027-github")],
)
def test_a_code_for_another_application_is_refused(
    service: Service, sign_in: MakeSignIn, other_client: str, social: str
) -> None:
    login = sign_in(social)

    login.refuse(login.approve(client_id=other_client), "oauth_failed")

    keys = SocialKeys("own", Application(social, other_client, "the-other-client-secret"))
    sign_in(social, shop=service.shop(socials={social: keys})).accept()


@pytest.mark.row("OAC-028")
def test_a_code_goes_to_the_provider_of_the_callback_and_to_no_other(provider: FakeOAuth, sign_in: MakeSignIn) -> None:
    google, github = sign_in("google"), sign_in("github")
    of_google = google.approve()
    before = newest(provider)

    mixed_up = {"state": github.state, "code": of_google["code"]}
    github.refuse({**mixed_up, "iss": of_google["iss"]}, "parameter_invalid")
    assert provider.requests(after=before) == []
    github = sign_in("github")
    github.refuse({**mixed_up, "state": github.state}, "oauth_failed")

    (exchange,) = [entry for entry in provider.requests(after=before) if entry.method == "POST"]
    assert exchange.provider == "github"
    google.accept(of_google)


@pytest.mark.parametrize(
    ("social", "iss"),
    [
        pytest.param("google", "https://accounts.google.com", id="OAC-029-real-google"),
        pytest.param("google", "https://issuer.invalid", id="OAC-029-other"),
        pytest.param("google", "", id="OAC-029-empty"),
        pytest.param("github", "https://github.com", id="OAC-029-real-github"),
    ],
)
def test_an_issuer_that_is_not_the_providers_is_400(sign_in: MakeSignIn, social: str, iss: str) -> None:
    login = sign_in(social)
    given = login.approve()
    assert given["iss"] not in {"", iss}

    page = login.refuse({**given, "iss": iss}, "parameter_invalid")

    assert "This response does not come from" in page.text
    sign_in(social).accept()


@pytest.mark.row("OAC-029")
@pytest.mark.parametrize("social", ["google", "github"])
def test_a_missing_issuer_is_accepted(sign_in: MakeSignIn, misbehave: Misbehave, social: str) -> None:
    misbehave("no-callback-iss", social)
    login = sign_in(social)
    given = login.approve()
    assert "iss" not in given

    login.accept(given)


# tokens and profile


@pytest.mark.parametrize(
    ("fault", "social", "options", "what"),
    [
        pytest.param("alg-none", "google", {}, "signature is invalid", id="OAC-040-none"),
        pytest.param("alg-hs256", "google", {}, "signature is invalid", id="OAC-040-hs256"),
        pytest.param("foreign-key", "google", {}, "not signed with one of the provider", id="OAC-040-wrong-key"),
        pytest.param("bad-signature", "google", {}, "not signed with one of the provider", id="OAC-040-bit"),
        pytest.param("embedded-key", "google", {}, "the id_token", id="OAC-040-embedded"),
        pytest.param("unknown-crit", "google", {}, "signature is invalid", id="OAC-040-crit"),
        pytest.param("malformed-id-token", "google", {}, "signature is invalid", id="OAC-040-malformed"),
        pytest.param("no-id-token", "google", {}, "id_token is missing", id="OAC-040-missing"),
        pytest.param("wrong-aud", "google", {}, "aud is another application", id="OAC-041-aud"),
        pytest.param("second-aud", "google", {}, "azp is another application", id="OAC-041-second-aud"),
        pytest.param("wrong-iss", "google", {}, "iss is not the provider", id="OAC-041-iss"),
        pytest.param("wrong-azp", "google", {}, "azp is another application", id="OAC-041-azp"),
        pytest.param("expired", "google", {"seconds": DAY}, "exp has passed", id="OAC-041-expired"),
        pytest.param(
            "expired", "google", {"seconds": 700}, "iat does not fit the time of this login", id="OAC-041-old"
        ),
        pytest.param(
            "issued-in-future",
            "google",
            {"seconds": DAY},
            "iat does not fit the time of this login",
            id="OAC-041-future",
        ),
        pytest.param(
            "issued-in-future", "google", {"seconds": 90}, "iat does not fit the time of this login", id="OAC-041-soon"
        ),
        pytest.param("wrong-nonce", "google", {}, "nonce is not the one of this login", id="OAC-041-nonce"),
        pytest.param("no-nonce", "google", {}, "nonce is not the one of this login", id="OAC-041-no-nonce"),
        pytest.param("wrong-at-hash", "google", {}, "at_hash belongs to another", id="OAC-041-at-hash"),
        *(
            pytest.param("no-claim", "google", {"claim": claim}, f"{claim} is missing", id=f"OAC-041-no-{claim}")
            for claim in ("iss", "aud", "exp", "iat")
        ),
        pytest.param("other-sub", "google", {}, "another subject than the id_token", id="OAC-042"),
        pytest.param("no-claim", "google", {"claim": "sub"}, "sub is missing", id="OAC-043-missing"),
        pytest.param("sub-number", "google", {}, "sub", id="OAC-043-number"),
        pytest.param("no-sub", "google", {}, "subject id is missing", id="OAC-043-userinfo"),
        pytest.param("empty-sub", "google", {}, "subject id has 0 characters", id="OAC-043-empty"),
        pytest.param("no-sub", "github", {}, "subject id is missing", id="OAC-043-github"),
        pytest.param("empty-sub", "github", {}, "subject id has 0 characters", id="OAC-043-github-empty"),
        pytest.param("token-type", "google", {"type": "mac"}, "not a bearer token", id="OAC-051-mac"),
        pytest.param("token-type", "github", {"type": "mac"}, "not a bearer token", id="OAC-051-github-mac"),
        pytest.param("no-access-token", "google", {}, "access token", id="OAC-051-missing"),
        pytest.param("no-access-token", "github", {}, "access token", id="OAC-051-github-missing"),
        pytest.param("null-member", "google", {"member": "access_token"}, "access token", id="OAC-051-null"),
        pytest.param("error-with-200", "google", {}, "did not accept this login", id="OAC-052-google"),
        pytest.param("error-with-200", "github", {}, "did not accept this login", id="OAC-052-github"),
        pytest.param("code-used", "github", {}, "bad_verification_code", id="OAC-052-code"),
    ],
)
def test_a_wrong_answer_of_a_social_provider_fails_the_login(
    *, sign_in: MakeSignIn, misbehave: Misbehave, fault: str, social: str, options: dict[str, Any], what: str
) -> None:
    misbehave(fault, social, **options)
    login = sign_in(social)

    page = login.refuse(login.approve(), "oauth_failed")

    assert what in page.text.replace("&#39;", "'")
    sign_in(social).accept()


@pytest.mark.row("OAC-043")
@pytest.mark.parametrize(
    ("sub", "what"),
    [
        ("x" * 300, "300 characters instead of 1 to 200"),
        ("a b", "characters that are not allowed"),
        ("é", "characters that are not allowed"),
    ],
    ids=["300", "space", "accent"],
)
def test_an_impossible_subject_is_refused(provider: FakeOAuth, sign_in: MakeSignIn, sub: str, what: str) -> None:
    provider.put_person(Person(id="odd", name="Odd Id", subjects={"google": sub}))
    login = sign_in()

    page = login.refuse(login.approve("odd"), "oauth_failed")

    assert what in page.text
    provider.put_person(Person(id="odd", name="Odd Id", subjects={"google": "x" * 200}))
    login = sign_in()
    assert login.accept(login.approve("odd"))["uid"] == "google:" + "x" * 200
    provider.remove_person("odd")


@pytest.mark.row("OAC-043")
def test_an_id_that_is_a_number_becomes_text(sign_in: MakeSignIn) -> None:
    uid = sign_in("github").accept()["uid"]

    social, _, sub = uid.partition(":")
    assert (social, sub.isdecimal()) == ("github", True)


@pytest.mark.row("OAC-047")
def test_for_an_unknown_kid_the_keys_are_fetched_once_more_and_never_again(
    provider: FakeOAuth, sign_in: MakeSignIn, misbehave: Misbehave
) -> None:
    sign_in().accept()
    before = newest(provider)
    misbehave("unknown-kid", "google")
    login = sign_in()

    login.refuse(login.approve(), "oauth_failed")

    fetched = [entry for entry in provider.requests(after=before) if entry.leg == "keys"]
    assert len(fetched) == 1
    sign_in().accept()


@pytest.mark.row("OAC-047")
def test_keys_that_were_rotated_are_fetched(provider: FakeOAuth, sign_in: MakeSignIn) -> None:
    sign_in().accept()
    before = newest(provider)
    provider.rotate_keys("google")

    sign_in().accept()
    sign_in().accept()

    fetched = [entry for entry in provider.requests(after=before) if entry.leg == "keys"]
    assert len(fetched) == 1


@pytest.mark.row("OAC-051")
@pytest.mark.parametrize("expires_in", [-1, None, 1])
def test_other_members_of_a_token_response_are_ignored(
    sign_in: MakeSignIn, misbehave: Misbehave, expires_in: int | None
) -> None:
    misbehave("expires-in", "google", expires_in=expires_in)

    sign_in().accept()
