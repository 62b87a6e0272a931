"""Tests of TikTok's peculiarities."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import CALLBACK, Visitor, content, parameters

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.pkce import s256, s256_hex

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

VERIFIER = "v" * 43
EVERY_SCOPE = "user.info.basic,user.info.profile,user.info.stats"
LOG_ID = re.compile(r"\d{14}[0-9A-F]{20}")


@pytest.fixture
def desktop(tiktok: Visitor) -> Visitor:
    """A visitor of an application that TikTok knows as a desktop application."""
    uris = (CALLBACK, "http://localhost:*/callback")
    tiktok.fake.world.clients.add(
        Client(provider="tiktok", client_id="ours", client_secret="ours-secret", kind="desktop", redirect_uris=uris)
    )
    return tiktok


# Authorization


@pytest.mark.parametrize("path", ["/v2/auth/authorize", "/v2/auth/authorize/"])
def test_authorize_is_served_with_and_without_the_last_slash(tiktok: Visitor, path: str) -> None:
    assert tiktok.get(path, tiktok.request()).status == 200


def test_the_application_is_named_by_its_client_key_and_a_client_id_beside_it_is_passed_over(tiktok: Visitor) -> None:
    both = tiktok.get(tiktok.site.authorize, tiktok.request() | {"client_id": "whatever"})
    alone = tiktok.get(tiktok.site.authorize, tiktok.request(client_id=None) | {"client_id": "ours"})

    form = {"grant_type": "authorization_code", "code": tiktok.callback()["code"], "redirect_uri": CALLBACK}
    form |= {"client_key": "ours", "client_secret": "ours-secret", "client_id": "whatever"}
    assert "access_token" in content(tiktok.post(tiktok.site.token, form))
    assert both.status == 200
    assert alone.status == 400
    assert b"client_key" in alone.body


def test_the_callback_tells_the_granted_scopes(tiktok: Visitor) -> None:
    params = parameters(tiktok.decide(scope=EVERY_SCOPE, also="offered=user.info.profile&offered=user.info.stats"))

    assert list(params) == ["code", "scopes", "state"]
    assert params["scopes"] == "user.info.basic"
    assert tiktok.callback(scope=EVERY_SCOPE)["scopes"] == EVERY_SCOPE


def test_the_basic_profile_is_granted_with_every_scope(tiktok: Visitor) -> None:
    token = tiktok.login(scope="user.info.profile")

    user = content(tiktok.profile(token["access_token"], fields="open_id,username"))["data"]["user"]

    assert token["scope"] == "user.info.basic,user.info.profile"
    assert (user["open_id"], user["username"]) == (token["open_id"], "rquill")


def test_the_basic_profile_may_have_to_be_asked_for(tiktok: Visitor) -> None:
    tiktok.switch("basic-always", on=False)
    token = tiktok.login(scope="user.info.profile")

    answer = tiktok.profile(token["access_token"], fields="open_id,username")

    assert token["scope"] == "user.info.profile"
    assert (answer.status, content(answer)["error"]["code"]) == (401, "scope_not_authorized")


def test_the_code_has_to_be_decoded_once(tiktok: Visitor) -> None:
    location = dict(tiktok.decide().headers)["location"]
    code = tiktok.callback()["code"]

    assert "%2A" in location
    assert "%21" in location
    assert {"*", "!"} <= set(code)
    assert content(tiktok.redeem(code.replace("*", "%2A")))["error"] == "invalid_grant"
    assert "access_token" in content(tiktok.redeem(code))


def test_after_an_approval_the_page_is_skipped_unless_auto_auth_is_disabled(tiktok: Visitor) -> None:
    def ask(disable: str) -> Answer:
        params = tiktok.request(disable_auto_auth=disable)
        return tiktok.get(tiktok.site.authorize, params, cookie="chatkey_fake_tiktok=rhea")

    before = ask("0")
    tiktok.callback()

    assert before.status == 200
    assert "code" in parameters(ask("0"))
    assert ask("1").status == 200


# PKCE


@pytest.mark.parametrize("form", [s256_hex, s256])
def test_a_web_application_may_send_a_challenge_in_either_form(tiktok: Visitor, form: Callable[[str], str]) -> None:
    code = tiktok.callback(code_challenge=form(VERIFIER), code_challenge_method="S256")["code"]

    wrong = tiktok.redeem(code, code_verifier="w" * 43)
    right = tiktok.redeem(code, code_verifier=VERIFIER)

    assert content(wrong)["error"] == "invalid_request"
    assert content(wrong)["error_description"] == "Code verifier or code challenge is invalid."
    assert "access_token" in content(right)


def test_a_desktop_application_needs_a_challenge(desktop: Visitor) -> None:
    answer = desktop.ask()

    assert answer.status == 400
    assert b"code_challenge" in answer.body
    assert desktop.ask(code_challenge="x" * 64, code_challenge_method="S256").status == 200


def test_on_a_desktop_base64url_passes_the_page_and_fails_at_the_token_endpoint(desktop: Visitor) -> None:
    def redeem(challenge: str) -> Any:
        code = desktop.callback(code_challenge=challenge, code_challenge_method="S256")["code"]
        return content(desktop.redeem(code, code_verifier=VERIFIER))

    assert redeem(s256(VERIFIER))["error"] == "invalid_request"
    assert redeem(s256_hex(VERIFIER).upper())["error"] == "invalid_request"
    assert "access_token" in redeem(s256_hex(VERIFIER))


@pytest.mark.parametrize(
    ("uri", "allowed"),
    [
        ("http://localhost:3455/callback", True),
        ("http://localhost:1/callback", True),
        ("http://localhost/callback", False),
        ("http://localhost:3455/callback/x", False),
        ("http://localhost:3455/callback#x", False),
        ("http://localhost:x/callback", False),
        ("http://localhost.evil.example:1/callback", False),
        ("http://127.0.0.1:3455/callback", False),
    ],
)
def test_a_star_stands_for_any_port_of_a_desktop(desktop: Visitor, uri: str, *, allowed: bool) -> None:
    answer = desktop.ask(redirect_uri=uri, code_challenge="x" * 64, code_challenge_method="S256")

    assert (answer.status == 200) is allowed


def test_a_star_is_no_wildcard_for_a_web_application(tiktok: Visitor) -> None:
    uris = ("http://localhost:*/callback",)
    tiktok.fake.world.clients.add(Client(provider="tiktok", client_id="web", client_secret="s", redirect_uris=uris))

    assert tiktok.ask(client_id="web", redirect_uri="http://localhost:1/callback").status == 400


# Token


def test_lifetimes_may_be_those_of_older_documents(tiktok: Visitor) -> None:
    tiktok.switch("older-lifetimes", on=True)
    token = tiktok.login()
    tiktok.clock.advance(86399)

    assert (token["expires_in"], token["refresh_expires_in"]) == (86400, 31536000)
    assert tiktok.profile(token["access_token"]).status == 200


def test_a_refresh_token_ends(tiktok: Visitor) -> None:
    in_time, late = tiktok.login()["refresh_token"], tiktok.login()["refresh_token"]
    tiktok.clock.advance(15551999)
    assert "access_token" in content(tiktok.refresh(in_time))

    tiktok.clock.advance(1)

    assert content(tiktok.refresh(late))["error"] == "invalid_grant"


def test_revoking_is_served_without_the_last_slash(tiktok: Visitor) -> None:
    token = tiktok.access_token()

    tiktok.post("/v2/oauth/revoke", {"client_key": "ours", "client_secret": "ours-secret", "token": token})

    assert tiktok.profile(token).status == 401


# User


def test_a_user_is_nested_beside_an_error_that_is_ok(tiktok: Visitor) -> None:
    body = content(
        tiktok.profile(
            tiktok.access_token(), fields="open_id,union_id,avatar_url,avatar_url_100,avatar_url_200,display_name"
        )
    )

    user, error = body["data"]["user"], body["error"]
    assert list(user) == ["open_id", "union_id", "avatar_url", "avatar_url_100", "avatar_url_200", "display_name"]
    assert (user["display_name"], user["avatar_url"]) == ("Rhea Quill", "https://id.localhost/tiktok/avatars/rhea.svg")
    assert (error["code"], error["message"]) == ("ok", "")
    assert LOG_ID.fullmatch(error["log_id"])


def test_the_open_id_differs_by_application_and_the_union_id_does_not(tiktok: Visitor) -> None:
    code = tiktok.callback(client_id="theirs")["code"]
    theirs = content(tiktok.redeem(code, client_id="theirs", client_secret="theirs-secret"))
    tokens = (tiktok.login(), theirs)

    ours, other = (
        content(tiktok.profile(token["access_token"], fields="open_id,union_id"))["data"]["user"] for token in tokens
    )

    assert [ours["open_id"], other["open_id"]] == [token["open_id"] for token in tokens]
    assert ours["union_id"] == other["union_id"]


@pytest.mark.parametrize("fields", ["", ",", "open_id,email"])
def test_fields_have_to_be_named_and_known(tiktok: Visitor, fields: str) -> None:
    answer = tiktok.profile(tiktok.access_token(), fields=fields)

    assert (answer.status, content(answer)["error"]["code"]) == (400, "invalid_params")
    assert content(answer)["data"] == {}


def test_a_field_needs_its_scope(tiktok: Visitor) -> None:
    fields = "open_id,username,follower_count,is_verified"

    closed = tiktok.profile(tiktok.access_token(), fields=fields)
    opened = tiktok.profile(tiktok.access_token(scope=EVERY_SCOPE), fields=fields)

    assert (closed.status, content(closed)["error"]["code"]) == (401, "scope_not_authorized")
    assert content(opened)["data"]["user"]["username"] == "rquill"
    assert content(opened)["data"]["user"]["is_verified"] is False
