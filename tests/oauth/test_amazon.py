"""Tests of Amazon's peculiarities."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from chatkey_oauth.engine.pkce import s256

if TYPE_CHECKING:
    from tests.oauth.visitor import Visitor

    from chatkey_oauth.clock import Clock
    from chatkey_oauth.engine.http import Answer

    Content = Callable[[Answer], Any]
    Parameters = Callable[[Answer], dict[str, str]]

VERIFIER = "v" * 43
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def ordered(answer: Answer) -> list[tuple[str, str]]:
    """Return the callback's parameters in the order in which they appear in the URL."""
    return parse_qsl(urlsplit(dict(answer.headers)["location"]).query)


# Authorization


@pytest.mark.parametrize("changes", [{"client_id": "nobody"}, {"redirect_uri": "https://evil.example/"}])
def test_a_wrong_client_or_address_gets_amazons_page(amazon: Visitor, changes: dict[str, str]) -> None:
    answer = amazon.ask(**changes)

    assert answer.status == 400
    assert b"<h1>We&#x27;re sorry!</h1>" in answer.body


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


def test_the_callback_tells_the_scope_or_does_not_if_switched(amazon: Visitor) -> None:
    told = amazon.callback(scope="profile postal_code")
    amazon.fake.world.switches.set("amazon.callback-scope", on=False)
    untold = amazon.callback()

    assert list(told) == ["code", "scope", "state"]
    assert told["scope"] == "profile postal_code"
    assert list(untold) == ["code", "state"]


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
def test_a_challenge_without_a_method_is_plain(
    amazon: Visitor, content: Content, challenge: str, method: str | None
) -> None:
    code = amazon.callback(code_challenge=challenge, code_challenge_method=method)["code"]

    wrong = content(amazon.redeem(code, code_verifier="w" * 43))
    right = content(amazon.redeem(code, code_verifier=VERIFIER))

    assert wrong["error"] == "invalid_grant"
    assert "access_token" in right


# Token


def test_the_token_answer_looks_like_amazons(amazon: Visitor) -> None:
    token = amazon.login()

    assert set(token) == {"access_token", "refresh_token", "token_type", "expires_in"}
    assert token["access_token"].startswith("Atza|")
    assert token["refresh_token"].startswith("Atzr|")
    assert min(len(token["access_token"]), len(token["refresh_token"])) >= 350
    assert (token["token_type"], token["expires_in"]) == ("bearer", 3600)


@pytest.mark.parametrize(
    ("changes", "status", "error", "description"),
    [
        ({"code": "nonsense"}, 400, "invalid_grant", "The request has an invalid grant parameter : code"),
        ({"code": None}, 400, "invalid_request", "The request is missing a required parameter : code"),
        ({"grant_type": None}, 400, "invalid_request", "The request is missing a required parameter : grant_type"),
        ({"client_secret": "wrong"}, 401, "invalid_client", "Client authentication failed"),
        ({"client_id": "nobody"}, 401, "invalid_client", "Client authentication failed"),
        (
            {"grant_type": "password"},
            400,
            "unsupported_grant_type",
            "The authorization grant type is not supported by the authorization server",
        ),
    ],
)
def test_an_error_has_four_members_in_amazons_order(  # noqa: PLR0917 - pytest names them
    amazon: Visitor, content: Content, changes: dict[str, str | None], status: int, error: str, description: str
) -> None:
    code = amazon.callback()["code"]

    answer = amazon.redeem(**{"code": code} | changes)  # type: ignore[arg-type]

    body = content(answer)
    assert answer.status == status
    assert list(body) == ["error_index", "error_description", "error", "request_id"]
    assert (body["error"], body["error_description"]) == (error, description)
    assert UUID.fullmatch(body["request_id"])


def test_a_json_body_without_a_client_is_refused_as_a_form_would_be(amazon: Visitor, content: Content) -> None:
    answer = amazon.post(amazon.site.token, b'{"grant_type":"authorization_code"}', content_type="application/json")

    assert (answer.status, content(answer)["error"]) == (401, "invalid_client")
    assert content(answer)["error_description"] == "Client authentication failed"


def test_a_code_lives_five_minutes(amazon: Visitor, content: Content, clock: Clock) -> None:
    code = amazon.callback()["code"]
    clock.advance(300)

    assert content(amazon.redeem(code))["error"] == "invalid_grant"


def test_a_refresh_token_brings_another_and_serves_again_and_again(amazon: Visitor, content: Content) -> None:
    token = amazon.login()["refresh_token"]

    def refresh(token: str) -> Answer:
        return amazon.redeem("", grant_type="refresh_token", refresh_token=token)

    first, second = content(refresh(token)), content(refresh(token))
    third = content(refresh(first["refresh_token"]))

    assert len({one["access_token"] for one in (first, second, third)}) == 3
    assert set(first) == {"access_token", "refresh_token", "token_type", "expires_in"}
    assert len({one["refresh_token"] for one in (first, second, third)} | {token}) == 4
    assert amazon.profile(first["access_token"]).status == 200
    refused = refresh("Atzr|nonsense")
    assert (refused.status, content(refused)["error"]) == (400, "invalid_grant")


# Profile


def test_a_token_is_presented_in_three_ways(amazon: Visitor, content: Content) -> None:
    token = amazon.login()["access_token"]

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
def test_a_profile_has_what_the_scopes_open(amazon: Visitor, content: Content, scope: str, members: set[str]) -> None:
    assert set(content(amazon.profile(amazon.login(scope=scope)["access_token"]))) == members


def test_members_that_a_person_does_not_have_are_absent(amazon: Visitor, content: Content) -> None:
    assert set(content(amazon.profile(amazon.login("nobody")["access_token"]))) == {"user_id"}
    assert "email" not in content(amazon.profile(amazon.login("noemail")["access_token"]))


def test_token_info_says_whom_a_token_is_for_and_how_long(amazon: Visitor, content: Content, clock: Clock) -> None:
    token = amazon.login()["access_token"]
    issued_at = clock()
    clock.advance(3)

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
def test_a_bad_token_is_refused_as_an_invalid_parameter(
    amazon: Visitor, content: Content, path: str, token: str
) -> None:
    answer = amazon.get(path, {"access_token": token})

    body = content(answer)
    assert UUID.fullmatch(body.pop("request_id"))
    assert (answer.status, body) == (
        400,
        {"error_description": "The request has an invalid parameter : access_token", "error": "invalid_token"},
    )


def test_a_token_without_a_scope_opens_no_profile(amazon: Visitor, content: Content) -> None:
    token = amazon.login(scope="")["access_token"]

    answer = amazon.profile(token)

    assert (answer.status, content(answer)["error"]) == (403, "insufficient_scope")


def test_discovery_and_revocation_do_not_exist(amazon: Visitor) -> None:
    for path in ("/.well-known/openid-configuration", "/auth/o2/revoke"):
        assert amazon.get(path).status == 404
