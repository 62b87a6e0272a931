"""Tests of LinkedIn's peculiarities."""

from __future__ import annotations

from tests.oauth.visitor import VERIFIER, Visitor, content

from chatkey_oauth.engine.pkce import s256

CHALLENGE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "S256"}


def test_the_profile_has_the_locale_as_an_object(linkedin: Visitor) -> None:
    profile = content(linkedin.profile(linkedin.access_token()))

    assert profile["locale"] == {"country": "US", "language": "en"}
    assert (profile["name"], profile["email"], profile["email_verified"]) == ("Rhea Quill", "rhea@example.com", True)


def test_each_application_has_subjects_of_its_own(linkedin: Visitor) -> None:
    provider, rhea = linkedin.fake.provider("linkedin"), linkedin.fake.world.people.get("rhea")
    assert rhea is not None

    ours, theirs = (provider.subject(rhea, who) for who in ("ours", "theirs"))

    assert ours != theirs
    assert len(ours) == len(theirs) == 10


def test_a_token_may_come_as_a_parameter_under_linkedins_own_name(linkedin: Visitor) -> None:
    token = linkedin.access_token()

    profile, older = (linkedin.get(path, {"oauth2_access_token": token}) for path in ("/v2/userinfo", "/v2/me"))

    assert (profile.status, content(profile)["name"]) == (200, "Rhea Quill")
    assert (older.status, content(older)["code"]) == (403, "ACCESS_DENIED")


def test_the_older_profile_is_opened_by_no_token(linkedin: Visitor) -> None:
    denied, unknown = (linkedin.profile(token, "/v2/me") for token in (linkedin.access_token(), "nonsense"))

    assert (denied.status, unknown.status) == (403, 401)
    assert content(denied) == {
        "status": 403,
        "serviceErrorCode": 100,
        "code": "ACCESS_DENIED",
        "message": "Not enough permissions to access: me.GET.NO_VERSION",
    }


def test_a_refused_verifier_is_401(linkedin: Visitor) -> None:
    assert linkedin.redeem(linkedin.callback(**CHALLENGE)["code"], code_verifier=VERIFIER).status == 401
