"""Tests of Facebook's peculiarities."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from tests.oauth.visitor import CALLBACK, Visitor, content, parameters

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

FIELDS = "id,name,first_name,last_name,email,picture"


def test_the_callback_ends_in_the_famous_fragment(facebook: Visitor) -> None:
    answer = facebook.decide()

    assert dict(answer.headers)["location"].endswith("#_=_")


@pytest.mark.parametrize("version", ["", "/v3.2", "/v16.0", "/v24.0"])
def test_any_graph_version_or_none_is_served(facebook: Visitor, version: str) -> None:
    form = {"code": facebook.callback()["code"], "client_id": "ours", "client_secret": "ours-secret"}

    page = facebook.get(f"{version}/dialog/oauth", facebook.request(response_type=None))
    token = content(facebook.post(f"{version}/oauth/access_token", form | {"redirect_uri": CALLBACK}))["access_token"]

    assert page.status == 200
    assert content(facebook.profile(token, f"{version}/me"))["name"] == "Rhea Quill"


def test_the_token_endpoint_takes_a_get_without_a_grant_type(facebook: Visitor) -> None:
    query = {
        "client_id": "ours",
        "client_secret": "ours-secret",
        "redirect_uri": CALLBACK,
        "code": facebook.callback()["code"],
    }

    token = content(facebook.get("/v16.0/oauth/access_token", query))

    assert set(token) == {"access_token", "token_type", "expires_in"}
    assert token["access_token"].startswith("EAA")
    assert (token["token_type"], token["expires_in"]) == ("bearer", 5183999)


def test_a_used_code_is_an_error_object_and_a_header(facebook: Visitor) -> None:
    code = facebook.callback()["code"]
    facebook.redeem(code)

    answer = facebook.redeem(code)

    error = content(answer)["error"]
    assert answer.status == 400
    assert len(error.pop("fbtrace_id")) == 23
    assert error == {
        "message": "This authorization code has been used.",
        "type": "OAuthException",
        "code": 100,
        "error_subcode": 36009,
    }
    assert dict(answer.headers)["www-authenticate"] == (
        'OAuth "Facebook Platform" "invalid_code" "This authorization code has been used."'
    )


def test_a_profile_has_only_the_fields_asked_for(facebook: Visitor) -> None:
    token = facebook.access_token()

    bare = content(facebook.profile(token))
    full = content(facebook.profile(token, fields=FIELDS))

    assert bare == {"id": full["id"], "name": "Rhea Quill"}
    assert full == {
        "id": full["id"],
        "name": "Rhea Quill",
        "first_name": "Rhea",
        "last_name": "Quill",
        "email": "rhea@example.com",
        "picture": {
            "data": {
                "height": 50,
                "is_silhouette": False,
                "width": 50,
                "url": "https://id.localhost/facebook/avatars/rhea.svg",
            }
        },
    }


def test_a_profile_has_the_id_even_if_the_request_does_not_name_it(facebook: Visitor) -> None:
    token = facebook.access_token()

    assert content(facebook.profile(token, fields="name")) == {"name": "Rhea Quill", "id": facebook.subject(token)}


def test_a_person_without_a_picture_gets_a_silhouette(facebook: Visitor) -> None:
    profile = content(facebook.profile(facebook.access_token("noname"), fields="picture"))

    picture = profile["picture"]["data"]
    assert picture["is_silhouette"] is True
    assert facebook.get(picture["url"].removeprefix("https://id.localhost/facebook")).status == 200


@pytest.mark.parametrize(
    ("field", "size"), [("picture.width(256).height(128)", (256, 128)), ("picture.type(large)", (200, 200))]
)
def test_a_picture_comes_in_the_size_asked_for(facebook: Visitor, field: str, size: tuple[int, int]) -> None:
    profile = content(facebook.profile(facebook.access_token(), fields=f"id,{field},name"))

    assert set(profile) == {"id", "picture", "name"}
    assert (profile["picture"]["data"]["width"], profile["picture"]["data"]["height"]) == size


def test_slashes_and_at_signs_are_escaped(facebook: Visitor) -> None:
    body = facebook.profile(facebook.access_token("emoji"), fields=FIELDS).body

    assert b"zoe\\u0040example.com" in body
    assert b"https:\\/\\/id.localhost" in body
    assert body.isascii()


def test_an_unticked_email_is_not_shared(facebook: Visitor) -> None:
    params = parameters(facebook.decide(also="offered=email", return_scopes="true"))
    token = content(facebook.redeem(params["code"]))["access_token"]

    profile = content(facebook.profile(token, fields=FIELDS))

    assert (params["granted_scopes"], params["denied_scopes"]) == ("public_profile", "email")
    assert "email" not in profile
    assert profile["name"] == "Rhea Quill"


def test_a_ticked_email_is_shared(facebook: Visitor) -> None:
    params = parameters(facebook.decide(also="offered=email&share=email"))
    token = content(facebook.redeem(params["code"]))["access_token"]

    assert content(facebook.profile(token, fields="email"))["email"] == "rhea@example.com"


def test_the_public_profile_is_granted_even_if_only_the_email_was_requested(facebook: Visitor) -> None:
    params = parameters(facebook.decide(scope="email", return_scopes="true"))

    assert params["granted_scopes"] == "email,public_profile"


def test_only_optional_scopes_can_be_declined(facebook: Visitor) -> None:
    params = parameters(facebook.decide(also="offered=public_profile&offered=email", return_scopes="true"))

    assert params["granted_scopes"] == "public_profile"


def test_a_proof_of_the_app_secret_is_checked_when_it_is_sent(facebook: Visitor) -> None:
    token = facebook.access_token()
    right = hmac.new(b"ours-secret", token.encode(), sha256).hexdigest()

    accepted = facebook.profile(token, appsecret_proof=right)
    refused = facebook.profile(token, appsecret_proof="0" * 64)

    assert accepted.status == 200
    assert (refused.status, content(refused)["error"]["code"]) == (400, 100)
    assert content(refused)["error"]["message"] == "Invalid appsecret_proof provided in the API argument"


def test_debug_token_tells_the_app_what_its_token_is_worth(facebook: Visitor) -> None:
    token = facebook.access_token()

    def debug(secret: str) -> Answer:
        return facebook.get("/debug_token", {"input_token": token, "access_token": f"ours|{secret}"})

    data = content(debug("ours-secret"))["data"]
    assert data == {
        "app_id": "ours",
        "type": "USER",
        "application": "ours",
        "expires_at": facebook.clock() + 5183999,
        "is_valid": True,
        "scopes": ["email", "public_profile"],
        "user_id": content(facebook.profile(token))["id"],
    }
    assert debug("wrong").status == 400
    facebook.clock.advance(5183999)
    assert content(debug("ours-secret"))["data"]["is_valid"] is False


def test_a_token_is_exchanged_for_a_fresh_one(facebook: Visitor) -> None:
    token = facebook.access_token()

    fresh = content(facebook.redeem("", grant_type="fb_exchange_token", fb_exchange_token=token))["access_token"]

    assert fresh != token
    assert facebook.profile(fresh).status == 200
    assert "error" in content(facebook.redeem("", grant_type="fb_exchange_token", fb_exchange_token="nonsense"))


def test_an_expired_token_is_not_exchanged(facebook: Visitor) -> None:
    token = facebook.access_token()
    facebook.clock.advance(5183998)
    fresh = facebook.redeem("", grant_type="fb_exchange_token", fb_exchange_token=token)
    facebook.clock.advance(1)

    refused = facebook.redeem("", grant_type="fb_exchange_token", fb_exchange_token=token)

    error = content(refused)["error"]
    assert fresh.status == 200
    assert (refused.status, error["type"], error["code"], error["error_subcode"]) == (400, "OAuthException", 190, 463)
    assert error["message"].startswith("Error validating access token: Session has expired on ")


def test_removing_the_permissions_ends_the_token(facebook: Visitor) -> None:
    token = facebook.access_token()

    foreign = facebook.send("DELETE", "/v24.0/123/permissions", f"access_token={token}")
    assert facebook.profile(token).status == 200
    own = facebook.send("DELETE", f"/v24.0/{facebook.subject(token)}/permissions", f"access_token={token}")

    assert (foreign.status, content(foreign)["error"]["type"]) == (400, "GraphMethodException")
    assert content(own) == {"success": True}
    assert facebook.profile(token).status == 400


def test_openid_brings_an_id_token(facebook: Visitor) -> None:
    assert "id_token" in facebook.login(scope="openid,email")
    assert "id_token" not in facebook.login()


def test_a_declined_email_is_asked_for_again_only_with_rerequest(facebook: Visitor) -> None:
    def shared(**changes: str) -> bool:
        token = facebook.access_token(**changes)
        return "email" in content(facebook.profile(token, fields=FIELDS))

    facebook.decide(also="offered=email")

    assert not shared()
    assert shared(auth_type="rerequest")
    assert shared()


@pytest.mark.parametrize("told", [True, False])
def test_an_expired_code_and_another_address_have_subcodes_or_have_not(facebook: Visitor, *, told: bool) -> None:
    facebook.switch("subcodes", on=told)
    code = facebook.callback()["code"]

    elsewhere = content(facebook.redeem(code, redirect_uri="https://chat.example/x"))["error"]
    facebook.clock.advance(600)
    late = content(facebook.redeem(code))["error"]

    subcodes = (elsewhere.get("error_subcode"), late.get("error_subcode"))
    assert subcodes == ((36008, 36007) if told else (None, None))


def test_a_proof_of_the_app_secret_may_be_demanded(facebook: Visitor) -> None:
    token = facebook.access_token()
    facebook.switch("require-proof", on=True)
    right = hmac.new(b"ours-secret", token.encode(), sha256).hexdigest()

    refused = facebook.profile(token)
    accepted = facebook.profile(token, appsecret_proof=right)

    error = content(refused)["error"]
    assert (refused.status, error["type"], error["code"]) == (400, "GraphMethodException", 100)
    assert accepted.status == 200


def test_a_graph_answer_tells_its_version_and_the_usage(facebook: Visitor) -> None:
    token = facebook.access_token()

    asked, newest = (dict(facebook.profile(token, path).headers) for path in ("/v16.0/me", "/me"))

    assert (asked["facebook-api-version"], newest["facebook-api-version"]) == ("v16.0", "v24.0")
    assert "call_count" in asked["x-app-usage"]


def test_the_token_of_the_profile_may_come_in_the_address(facebook: Visitor) -> None:
    token = facebook.access_token()

    assert content(facebook.get("/me", {"access_token": token})) == content(facebook.profile(token))
