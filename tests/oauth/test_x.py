"""Tests of X's peculiarities."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import CALLBACK, Visitor, content

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.pkce import s256

if TYPE_CHECKING:
    from chatkey_oauth.app import App

SCOPE = "tweet.read users.read users.email offline.access"
BASIC = f"Basic {b64encode(b'ours:ours-secret').decode()}"
UNAUTHORIZED = {"error": "unauthorized_client", "error_description": "Missing valid authorization header"}


def decoded(token: str) -> list[str]:
    return urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().split(":")


def register(visitor: Visitor, **members: Any) -> None:
    known = {"provider": "x", "client_id": "ours", "client_secret": "ours-secret", "redirect_uris": (CALLBACK,)}
    visitor.fake.world.clients.add(Client(**(known | members)))


# Authorization endpoint


def test_a_state_may_have_500_characters(x: Visitor) -> None:
    assert x.ask(state="s" * 500).status == 200


@pytest.mark.parametrize("method", ["S256", "s256", "plain", "PLAIN", "Plain"])
@pytest.mark.parametrize("verifier", ["v" * 32, "v" * 43])
def test_the_method_may_be_written_in_any_case_and_the_verifier_be_short(
    x: Visitor, method: str, verifier: str
) -> None:
    challenge = verifier if method.lower() == "plain" else s256(verifier)
    code = x.callback(code_challenge=challenge, code_challenge_method=method)["code"]

    answer = x.redeem(code, code_verifier=verifier)

    assert "access_token" in content(answer)


# Token endpoint


def test_the_token_answer_looks_like_xs(x: Visitor) -> None:
    token = x.login(scope=SCOPE)

    assert list(token) == ["token_type", "expires_in", "access_token", "scope", "refresh_token"]
    assert (token["token_type"], token["expires_in"], token["scope"]) == ("bearer", 7200, SCOPE)
    milliseconds = str(int(x.clock() * 1000))
    assert decoded(token["access_token"])[1:] == [milliseconds, "1", "1", "at", "1"]
    assert decoded(token["refresh_token"])[1:] == [milliseconds, "1", "1", "rt", "1"]


def test_a_code_is_base64(x: Visitor) -> None:
    assert decoded(x.callback()["code"])[2:] == ["1", "1", "ac", "1"]


def form(code: str, **more: str) -> dict[str, str]:
    """Return a token request without client authentication."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    given = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": verifier}
    return given | more


def test_a_confidential_client_proves_itself_by_basic_only(x: Visitor) -> None:
    code = x.callback()["code"]

    posted = x.post("/2/oauth2/token", form(code, client_id="ours", client_secret="ours-secret"))
    named = x.post("/2/oauth2/token", form(code, client_id="ours"))
    both = x.post("/2/oauth2/token", form(code, client_id="ours"), authorization=BASIC)

    assert (posted.status, content(posted)) == (401, UNAUTHORIZED)
    assert (named.status, content(named)) == (401, UNAUTHORIZED)
    assert both.status == 200


def test_a_public_client_names_itself_in_the_body(x: Visitor) -> None:
    register(x, client_id="public", client_secret="")
    code = x.callback(client_id="public", scope=SCOPE)["code"]

    answer = x.post("/2/oauth2/token", form(code, client_id="public"))
    refreshed = x.post(
        "/2/oauth2/token",
        {"grant_type": "refresh_token", "refresh_token": content(answer)["refresh_token"], "client_id": "public"},
    )

    assert (answer.status, refreshed.status) == (200, 200)


def test_the_client_id_may_be_required_beside_the_header(x: Visitor) -> None:
    x.switch("client-id-in-body", on=True)
    code = x.callback()["code"]

    without = x.redeem(code)
    named = x.post("/2/oauth2/token", form(code, client_id="ours"), authorization=BASIC)

    assert content(without)["error_description"] == "Missing required parameter [client_id]."
    assert named.status == 200


# User


def test_a_user_comes_in_an_envelope_with_three_members(x: Visitor) -> None:
    answer = x.profile(x.access_token())

    data = content(answer)["data"]
    assert (data["name"], data["username"], len(data["id"])) == ("Rhea Quill", "rquill", 13)
    assert set(content(answer)) == {"data"}
    assert set(data) == {"id", "name", "username"}


def test_fields_are_asked_for(x: Visitor) -> None:
    answer = x.profile(
        x.access_token(scope=SCOPE), **{"user.fields": "profile_image_url,confirmed_email,verified,location"}
    )

    data = content(answer)["data"]
    assert data["profile_image_url"] == "https://id.localhost/x/profile_images/rhea_normal.svg"
    assert (data["confirmed_email"], data["verified"]) == ("rhea@example.com", False)
    assert "location" not in data


def test_the_picture_address_without_normal_is_larger(x: Visitor) -> None:
    small, large = (x.get(f"/profile_images/{name}.svg") for name in ("rhea_normal", "rhea"))

    assert small.status == large.status == 200
    assert dict(large.headers)["content-type"] == "image/svg+xml"
    assert x.get("/profile_images/who_normal.svg").status == 404


@pytest.mark.parametrize(
    ("person", "scope", "permitted"),
    [
        ("rhea", "tweet.read users.read", True),
        ("rhea", SCOPE, False),
        ("noemail", SCOPE, True),
        ("unverified", SCOPE, True),
    ],
)
def test_only_a_confirmed_address_with_scope_and_permission_is_told(
    x: Visitor, person: str, scope: str, permitted: bool
) -> None:
    register(x, request_email=permitted)

    answer = x.profile(x.access_token(person, scope=scope), **{"user.fields": "confirmed_email"})

    assert answer.status == 200
    assert set(content(answer)) == {"data"}
    assert "confirmed_email" not in content(answer)["data"]


def test_an_address_that_may_not_be_read_may_be_explained(x: Visitor) -> None:
    x.switch("field-errors", on=True)
    without, with_scope = x.access_token(), x.access_token(scope=SCOPE)

    refused = content(x.profile(without, **{"user.fields": "confirmed_email"}))
    allowed = content(x.profile(with_scope, **{"user.fields": "confirmed_email"}))

    (error,) = refused["errors"]
    assert (error["title"], error["field"]) == ("Field Authorization Error", "confirmed_email")
    assert refused["data"]["name"] == "Rhea Quill"
    assert set(allowed) == {"data"}


def test_an_unknown_field_is_a_problem(x: Visitor) -> None:
    answer = x.profile(x.access_token(), **{"user.fields": "name,shoe_size"})

    problem = content(answer)
    assert (answer.status, dict(answer.headers)["content-type"]) == (400, "application/problem+json")
    assert problem["title"] == "Invalid Request"
    assert problem["errors"][0]["parameters"] == {"user.fields": ["shoe_size"]}


def test_a_bad_token_is_a_problem(x: Visitor) -> None:
    token = x.access_token()
    x.clock.advance(7200)

    for answer in (x.profile(token), x.profile("nonsense"), x.get("/2/users/me", {"access_token": token})):
        assert dict(answer.headers)["content-type"] == "application/problem+json"
        assert (answer.status, content(answer)) == (
            401,
            {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"},
        )


def test_every_answer_has_the_rate_limit_headers(x: Visitor) -> None:
    token = x.access_token()

    first, second = dict(x.profile(token).headers), dict(x.profile(token).headers)
    x.clock.advance(15 * 60)
    later = dict(x.profile(token).headers)

    assert (first["x-rate-limit-limit"], first["x-rate-limit-remaining"]) == ("75", "74")
    assert first["x-rate-limit-reset"] == second["x-rate-limit-reset"] == str(int(x.clock()))
    assert (second["x-rate-limit-remaining"], later["x-rate-limit-remaining"]) == ("73", "74")


def test_the_rate_limit_applies_only_if_switched_on(x: Visitor) -> None:
    token, other = x.access_token(), x.access_token("omar")
    for _ in range(76):
        assert x.profile(token).status == 200

    x.switch("rate-limit", on=True)
    refused = x.profile(token)

    assert (refused.status, dict(refused.headers)["content-type"]) == (429, "application/problem+json")
    assert content(refused)["title"] == "Too Many Requests"
    assert dict(refused.headers)["x-rate-limit-remaining"] == "0"
    assert dict(refused.headers)["x-rate-limit-reset"] == str(int(x.clock()) + 15 * 60)
    assert x.profile(other).status == 200
    x.clock.advance(15 * 60)
    assert x.profile(token).status == 200


def test_a_reset_resets_the_rate_limit(fake: App, x: Visitor) -> None:
    x.profile(x.access_token())

    fake.reset()

    headers = dict(x.profile(x.access_token()).headers)
    assert headers["x-rate-limit-remaining"] == "74"


def test_there_is_no_discovery(x: Visitor) -> None:
    assert x.get("/.well-known/openid-configuration").status == 404
    assert "id_token" not in x.login(scope=f"{SCOPE} openid")


def test_the_timeline_says_where_a_secret_counts(x: Visitor) -> None:
    code = x.callback()["code"]

    x.post("/2/oauth2/token", form(code, client_id="ours", client_secret="ours-secret"))

    verdict = x.fake.flows.all()[0].steps[-1].verdicts["client"]
    assert verdict.mark == "wrong"
    assert verdict.words == "client_secret_post: wrong secret, which is only accepted in a Basic header"


def test_a_revocation_without_a_token_names_the_parameter(x: Visitor) -> None:
    refused = x.post("/2/oauth2/revoke", {}, authorization=BASIC)

    assert content(refused)["error_description"] == "Missing required parameter [token]."
