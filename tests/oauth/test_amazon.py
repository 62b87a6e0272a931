"""Tests of Amazon's peculiarities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.oauth.visitor import CALLBACK, Visitor, content

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.pkce import s256

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

VERIFIER = "v" * 43
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def ordered(answer: Answer) -> list[tuple[str, str]]:
    """Return the callback's parameters in the order in which they appear in the URL."""
    return parse_qsl(urlsplit(dict(answer.headers)["location"]).query)


# Authorization


def test_an_unknown_scope_is_sent_back_with_the_error_last(amazon: Visitor) -> None:
    assert ordered(amazon.ask(scope="profile everything")) == [
        ("error_description", "An unknown scope was requested"),
        ("state", "st-1"),
        ("error", "invalid_scope"),
    ]


def test_a_declined_login_is_sent_back_with_the_error_last(amazon: Visitor) -> None:
    assert ordered(amazon.decide(decision="deny")) == [
        ("error_description", "Access not permitted."),
        ("state", "st-1"),
        ("error", "access_denied"),
    ]


@pytest.mark.parametrize(
    ("scope_data", "offered"),
    [
        ('{"postal_code":{"essential":false}}', True),
        ('{"postal_code":{"essential":true}}', False),
        ('{"postal_code":{}}', False),
        ("nonsense", False),
        ('["postal_code"]', False),
    ],
)
def test_a_voluntary_scope_may_be_left_out(amazon: Visitor, scope_data: str, *, offered: bool) -> None:
    asked = {"scope": "profile postal_code", "scope_data": scope_data}

    page = amazon.ask(**asked)
    answer = dict(ordered(amazon.decide(also="offered=postal_code", **asked)))

    assert (b'name="share" value="postal_code"' in page.body) is offered
    assert answer["scope"] == ("profile" if offered else "profile postal_code")


@pytest.mark.parametrize(("challenge", "method"), [(VERIFIER, None), (VERIFIER, "plain"), (s256(VERIFIER), "S256")])
def test_a_challenge_without_a_method_is_plain(amazon: Visitor, challenge: str, method: str | None) -> None:
    code = amazon.callback(code_challenge=challenge, code_challenge_method=method)["code"]

    wrong = content(amazon.redeem(code, code_verifier="w" * 43))
    right = content(amazon.redeem(code, code_verifier=VERIFIER))

    assert wrong["error"] == "invalid_grant"
    assert "access_token" in right


# Token


# Profile


def test_a_token_is_presented_in_three_ways(amazon: Visitor) -> None:
    token = amazon.access_token()

    bearer = amazon.profile(token)
    query = amazon.get("/user/profile", {"access_token": token})
    header = amazon.get("/user/profile", x_amz_access_token=token)

    assert content(bearer) == content(query) == content(header)
    assert content(bearer)["user_id"].startswith("amzn1.account.A")
    assert (content(bearer)["name"], content(bearer)["email"]) == ("Rhea Quill", "rhea@example.com")


@pytest.mark.parametrize(
    ("scope", "members"),
    [
        ("profile", {"user_id", "name", "email"}),
        ("profile:user_id", {"user_id"}),
        ("profile:user_id postal_code", {"user_id", "postal_code"}),
        ("profile postal_code", {"user_id", "name", "email", "postal_code"}),
    ],
)
def test_a_profile_has_what_the_scopes_open(amazon: Visitor, scope: str, members: set[str]) -> None:
    assert set(content(amazon.profile(amazon.access_token(scope=scope)))) == members


def test_members_that_a_person_does_not_have_are_absent(amazon: Visitor) -> None:
    assert set(content(amazon.profile(amazon.access_token("nobody")))) == {"user_id"}
    assert "email" not in content(amazon.profile(amazon.access_token("noemail")))


def test_token_info_says_whom_a_token_is_for_and_how_long(amazon: Visitor) -> None:
    token = amazon.access_token()
    issued_at = amazon.clock()
    amazon.clock.advance(3)

    info = content(amazon.get("/auth/o2/tokeninfo", {"access_token": token}))

    assert info.pop("app_id").startswith("amzn1.application.")
    assert info == {
        "aud": "ours",
        "user_id": amazon.subject(token),
        "iss": "https://id.localhost/amazon",
        "exp": 3597,
        "iat": issued_at,
    }


@pytest.mark.parametrize("path", ["/user/profile", "/auth/o2/tokeninfo"])
@pytest.mark.parametrize("token", ["", "Atza|nonsense"])
def test_a_bad_token_is_refused_as_an_invalid_parameter(amazon: Visitor, path: str, token: str) -> None:
    answer = amazon.get(path, {"access_token": token})

    body = content(answer)
    assert UUID.fullmatch(body.pop("request_id"))
    assert (answer.status, body) == (
        400,
        {"error_description": "The request has an invalid parameter : access_token", "error": "invalid_token"},
    )


def test_discovery_and_revocation_do_not_exist(amazon: Visitor) -> None:
    for path in ("/.well-known/openid-configuration", "/auth/o2/revoke"):
        assert amazon.get(path).status == 404


@pytest.mark.parametrize(("secret", "refreshes"), [("", False), ("its-secret", True)])
def test_only_an_application_with_a_secret_gets_a_refresh_token(
    amazon: Visitor, *, secret: str, refreshes: bool
) -> None:
    application = Client(provider="amazon", client_id="app", client_secret=secret, redirect_uris=(CALLBACK,))
    amazon.fake.world.clients.add(application)
    challenge = {"code_challenge": s256(VERIFIER), "code_challenge_method": "S256"}

    code = amazon.callback(client_id="app", **challenge)["code"]
    token = content(amazon.redeem(code, client_id="app", client_secret=secret, code_verifier=VERIFIER))

    assert ("access_token" in token, "refresh_token" in token) == (True, refreshes)
