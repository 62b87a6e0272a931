"""Tests of GitLab's peculiarities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import Visitor, content, parameters

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import Client

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer


def test_both_metadata_documents_are_the_same(gitlab: Visitor) -> None:
    first = content(gitlab.get("/.well-known/openid-configuration"))

    assert first == content(gitlab.get("/.well-known/oauth-authorization-server"))
    assert first["issuer"] == "https://id.localhost/gitlab"
    assert first["code_challenge_methods_supported"] == ["plain", "S256"]


def test_a_form_post_answer_sends_itself(gitlab: Visitor) -> None:
    answer = gitlab.decide(response_mode="form_post", state='"><script>x</script>')

    headers = dict(answer.headers)
    assert answer.status == 200
    assert b'action="https://chat.example/callback"' in answer.body
    assert b'name="code"' in answer.body
    assert b"<script>x" not in answer.body
    assert "script-src 'sha256-" in headers["content-security-policy"]


@pytest.mark.parametrize(("changes", "decision"), [({}, "deny"), ({"scope": "everything"}, "approve")])
def test_an_error_travels_in_the_response_mode_too(gitlab: Visitor, changes: dict[str, str], decision: str) -> None:
    posted = gitlab.decide(decision=decision, also="", response_mode="form_post", **changes)
    unknown = gitlab.decide(decision=decision, also="", response_mode="pigeon", **changes)

    assert posted.status == 200
    assert b'name="error"' in posted.body
    assert b'name="state" value="st-1"' in posted.body
    assert "error=unsupported_response_mode" in dict(unknown.headers)["location"]


def test_a_fragment_answer_keeps_the_code_from_the_server(gitlab: Visitor) -> None:
    location = dict(gitlab.decide(response_mode="fragment").headers)["location"]

    assert location.startswith("https://chat.example/callback#code=")


def test_the_api_says_that_a_token_was_revoked(gitlab: Visitor) -> None:
    old = gitlab.login()

    gitlab.refresh(old["refresh_token"])

    refused = gitlab.profile(old["access_token"])
    assert (refused.status, content(refused)) == (
        401,
        {
            "error": "invalid_token",
            "error_description": "Token was revoked. You have to re-authorize from the user.",
        },
    )


def test_a_refresh_may_ask_for_fewer_scopes_and_the_next_one_has_no_more(gitlab: Visitor) -> None:
    def refresh(token: str, scope: str | None) -> Any:
        return content(gitlab.refresh(token, scope=scope))

    whole = gitlab.login()["refresh_token"]
    more = refresh(whole, "openid api")
    fewer = refresh(whole, "read_user openid")
    back = refresh(fewer["refresh_token"], "openid profile")
    same = refresh(fewer["refresh_token"], None)

    assert (
        more
        == back
        == {"error": "invalid_scope", "error_description": "The requested scope is invalid, unknown, or malformed."}
    )
    assert fewer["scope"] == same["scope"] == "read_user openid"
    assert gitlab.profile(same["access_token"]).status == 200


def test_a_code_used_twice_takes_back_what_was_narrowed_too(gitlab: Visitor) -> None:
    gitlab.switch("reuse-revokes", on=True)
    code = gitlab.callback()["code"]
    first = content(gitlab.redeem(code))
    again = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"], "scope": "read_user"}
    narrow = content(gitlab.redeem("", **again))["access_token"]

    gitlab.redeem(code)

    assert gitlab.profile(narrow).status == 401


@pytest.mark.parametrize("doorkeeper_6", [True, False])
def test_a_code_used_twice_takes_back_what_it_brought_from_doorkeeper_6_on(
    gitlab: Visitor, *, doorkeeper_6: bool
) -> None:
    gitlab.switch("reuse-revokes", on=doorkeeper_6)
    code = gitlab.callback()["code"]
    stolen = content(gitlab.redeem(code))["access_token"]
    other = gitlab.access_token()

    again = gitlab.redeem(code)

    assert (again.status, content(again)["error"]) == (400, "invalid_grant")
    assert gitlab.profile(stolen).status == (401 if doorkeeper_6 else 200)
    assert gitlab.profile(other).status == 200


@pytest.mark.parametrize(
    "changes",
    [{"scope": "api"}, {"prompt": "consent"}, {"prompt": "select_account"}, {"login_hint": "omar"}],
)
def test_after_an_approval_the_page_is_shown_only_for_more_scopes_or_on_request(
    gitlab: Visitor, changes: dict[str, str]
) -> None:
    def ask(**changes: str) -> Answer:
        return gitlab.get("/oauth/authorize", gitlab.request(**changes), cookie="chatkey_fake_gitlab=rhea")

    before = ask()
    gitlab.callback()

    assert (before.status, set(parameters(ask()))) == (200, {"code", "state"})
    assert ask(**changes).status == 200
    gitlab.switch("remember-approval", on=False)
    assert ask().status == 200


def test_the_people_of_a_public_application_are_asked_every_time(gitlab: Visitor) -> None:
    public = Client(provider="gitlab", client_id="public", redirect_uris=("https://chat.example/callback",))
    gitlab.fake.world.clients.add(public)
    proof = {"client_id": "public", "code_challenge": "challenge", "code_challenge_method": "S256"}
    gitlab.callback(**proof)

    again = gitlab.get("/oauth/authorize", gitlab.request(**proof), cookie="chatkey_fake_gitlab=rhea")

    assert again.status == 200


def test_userinfo_refuses_with_doorkeepers_header_and_the_api_without(gitlab: Visitor) -> None:
    revoked, expired = gitlab.access_token(), gitlab.access_token()
    gitlab.post("/oauth/revoke", {"client_id": "ours", "client_secret": "ours-secret", "token": revoked})
    gitlab.clock.advance(7200)

    said = {
        token: dict(gitlab.profile(token, "/oauth/userinfo").headers)["www-authenticate"]
        for token in ("nonsense", revoked, expired)
    }

    assert said == {
        "nonsense": 'Bearer realm="Doorkeeper", error="invalid_token", error_description="The access token is invalid"',
        revoked: 'Bearer realm="Doorkeeper", error="invalid_token", error_description="The access token was revoked"',
        expired: 'Bearer realm="Doorkeeper", error="invalid_token", error_description="The access token expired"',
    }
    assert "www-authenticate" not in dict(gitlab.profile("nonsense").headers)


def test_the_api_has_a_number_and_openid_the_same_as_text(gitlab: Visitor) -> None:
    token = gitlab.access_token()

    user = content(gitlab.get("/api/v4/user", {"access_token": token}))
    claims = content(gitlab.profile(token, "/oauth/userinfo"))

    assert isinstance(user["id"], int)
    assert claims["sub"] == str(user["id"])
    assert (user["state"], user["locked"], user["email"]) == ("active", False, "rhea@example.com")
    assert (claims["nickname"], claims["email"], claims["email_verified"]) == ("rquill", "rhea@example.com", True)


def test_an_unconfirmed_address_shows_in_userinfo_and_api(gitlab: Visitor) -> None:
    token = gitlab.access_token("unverified")

    assert content(gitlab.profile(token))["confirmed_at"] is None
    assert content(gitlab.profile(token, "/oauth/userinfo"))["email_verified"] is False


def test_only_the_own_application_can_look_at_a_token_until_it_is_revoked(gitlab: Visitor) -> None:
    token = gitlab.access_token()
    ours = {"client_id": "ours", "client_secret": "ours-secret", "token": token}
    theirs = {"client_id": "theirs", "client_secret": "theirs-secret", "token": token}

    assert content(gitlab.post("/oauth/introspect", ours))["active"] is True
    assert content(gitlab.post("/oauth/introspect", theirs)) == {"active": False}
    assert content(gitlab.get("/oauth/token/info", {"access_token": token}))["application"] == {"uid": "ours"}
    gitlab.post("/oauth/revoke", ours)
    assert content(gitlab.post("/oauth/introspect", ours)) == {"active": False}


def test_no_prompt_may_be_answered_with_a_page(gitlab: Visitor) -> None:
    gitlab.callback()
    for name in ("prompt", "remember-approval"):
        gitlab.switch(name, on=False)

    cookie = "chatkey_fake_gitlab=rhea"
    assert gitlab.get("/oauth/authorize", gitlab.request(prompt="none"), cookie=cookie).status == 200


def test_token_info_tells_whose_token_it_is_and_how_long_it_lives(gitlab: Visitor) -> None:
    token = gitlab.access_token(scope="openid read_user")
    issued_at = gitlab.clock()
    gitlab.clock.advance(10)

    info = content(gitlab.profile(token, "/oauth/token/info"))

    assert info == {
        "resource_owner_id": content(gitlab.profile(token))["id"],
        "scope": ["openid", "read_user"],
        "expires_in": 7190,
        "application": {"uid": "ours"},
        "created_at": issued_at,
        "scopes": ["openid", "read_user"],
        "expires_in_seconds": 7190,
    }


@pytest.mark.parametrize("spoil", ["unknown", "expired", "revoked"])
def test_token_info_refuses_every_bad_token_alike(gitlab: Visitor, spoil: str) -> None:
    token = gitlab.access_token()
    if spoil == "expired":
        gitlab.clock.advance(7200)
    if spoil == "revoked":
        gitlab.post("/oauth/revoke", {"client_id": "ours", "client_secret": "ours-secret", "token": token})

    answer = gitlab.profile("nonsense" if spoil == "unknown" else token, "/oauth/token/info")

    said = {"error": "invalid_token", "error_description": "The access token is invalid", "state": "unauthorized"}
    assert (answer.status, content(answer)) == (401, said)
    assert 'error="invalid_token"' in dict(answer.headers)["www-authenticate"]


# Tokens of applications themselves


MACHINE = {"grant_type": "client_credentials", "client_id": "ours", "client_secret": "ours-secret"}


def test_an_application_gets_a_token_without_a_person(gitlab: Visitor) -> None:
    token = content(gitlab.post("/oauth/token", MACHINE | {"scope": "api openid"}))

    info = content(gitlab.profile(token["access_token"], "/oauth/token/info"))

    assert {name: value for name, value in token.items() if name != "access_token"} == {
        "token_type": "Bearer",
        "expires_in": 7200,
        "scope": "api openid",
        "created_at": gitlab.clock(),
    }
    assert (info["resource_owner_id"], info["scope"], info["application"]) == (None, ["api", "openid"], {"uid": "ours"})
    for path in ("/api/v4/user", "/oauth/userinfo"):
        answer = gitlab.profile(token["access_token"], path)
        assert (answer.status, content(answer)) == (401, {"message": "401 Unauthorized"})


def test_an_application_that_names_no_scope_gets_the_usual_one(gitlab: Visitor) -> None:
    assert content(gitlab.post("/oauth/token", MACHINE))["scope"] == "read_user"


def test_the_address_comes_only_with_its_scope(gitlab: Visitor) -> None:
    claims = content(gitlab.profile(gitlab.access_token(scope="openid profile"), "/oauth/userinfo"))

    assert (claims["nickname"], claims["groups"]) == ("rquill", [])
    assert not {"email", "email_verified"} & set(claims)


def test_an_instance_below_a_path_keeps_it(make_fake: Callable[..., App]) -> None:
    fake = make_fake(browser_urls={"gitlab": "https://host.example/tools/gitlab"})

    document = content(fake.answer(Call("GET", "/gitlab/.well-known/openid-configuration")))

    assert document["issuer"] == "https://host.example/tools/gitlab"
    assert document["token_endpoint"] == "https://host.example/tools/gitlab/oauth/token"


def test_version_three_of_the_api_gets_410(gitlab: Visitor) -> None:
    token = gitlab.access_token()

    gone, there = (gitlab.profile(token, f"/api/{version}/user") for version in ("v3", "v4"))

    assert (gone.status, there.status) == (410, 200)
    assert content(gone) == {"error": "API V3 is no longer supported. Use API V4 instead."}
