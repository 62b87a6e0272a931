"""Tests of Facebook's peculiarities."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.oauth.visitor import Visitor

    from chatkey_oauth.clock import Clock
    from chatkey_oauth.engine.http import Answer

    Content = Callable[[Answer], Any]
    Parameters = Callable[[Answer], dict[str, str]]

FIELDS = "id,name,first_name,last_name,email,picture"


def test_the_callback_ends_in_the_famous_fragment(facebook: Visitor) -> None:
    answer = facebook.decide()

    assert dict(answer.headers)["location"].endswith("#_=_")


def test_a_refusal_has_four_members(facebook: Visitor, parameters: Parameters) -> None:
    assert parameters(facebook.decide(decision="deny")) == {
        "error": "access_denied",
        "error_code": "200",
        "error_description": "Permissions error",
        "error_reason": "user_denied",
        "state": "st-1",
    }


@pytest.mark.parametrize("path", ["/dialog/oauth", "/v3.2/dialog/oauth", "/v24.0/dialog/oauth"])
def test_any_graph_version_or_none_is_served(facebook: Visitor, path: str) -> None:
    assert facebook.get(path, facebook.request(response_type=None)).status == 200


def test_the_token_endpoint_takes_a_get_without_a_grant_type(facebook: Visitor, content: Content) -> None:
    query = {
        "client_id": "ours",
        "client_secret": "ours-secret",
        "redirect_uri": "https://chat.example/callback",
        "code": facebook.callback()["code"],
    }

    token = content(facebook.get("/v16.0/oauth/access_token", query))

    assert set(token) == {"access_token", "token_type", "expires_in"}
    assert token["access_token"].startswith("EAA")
    assert (token["token_type"], token["expires_in"]) == ("bearer", 5183999)


def test_a_used_code_is_an_error_object_and_a_header(facebook: Visitor, content: Content) -> None:
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


def test_a_profile_has_only_the_fields_asked_for(facebook: Visitor, content: Content) -> None:
    token = facebook.login()["access_token"]

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


def test_a_person_without_a_picture_gets_a_silhouette(facebook: Visitor, content: Content) -> None:
    profile = content(facebook.profile(facebook.login("noname")["access_token"], fields="picture"))

    picture = profile["picture"]["data"]
    assert picture["is_silhouette"] is True
    assert facebook.get(picture["url"].removeprefix("https://id.localhost/facebook")).status == 200


@pytest.mark.parametrize(
    ("field", "size"), [("picture.width(256).height(128)", (256, 128)), ("picture.type(large)", (200, 200))]
)
def test_a_picture_comes_in_the_size_asked_for(
    facebook: Visitor, content: Content, field: str, size: tuple[int, int]
) -> None:
    token = facebook.login()["access_token"]

    profile = content(facebook.profile(token, fields=f"id,{field},name"))

    assert set(profile) == {"id", "picture", "name"}
    assert (profile["picture"]["data"]["width"], profile["picture"]["data"]["height"]) == size


def test_slashes_and_at_signs_are_escaped(facebook: Visitor) -> None:
    token = facebook.login("emoji")["access_token"]

    body = facebook.profile(token, fields=FIELDS).body

    assert b"zoe\\u0040example.com" in body
    assert b"https:\\/\\/id.localhost" in body
    assert body.isascii()


@pytest.mark.parametrize("person", ["noemail", "unverified", "nobody"])
def test_an_email_that_is_not_there_or_not_confirmed_is_absent(
    facebook: Visitor, content: Content, person: str
) -> None:
    token = facebook.login(person)["access_token"]

    assert "email" not in content(facebook.profile(token, fields=FIELDS))


def test_an_unticked_email_is_not_shared(facebook: Visitor, content: Content, parameters: Parameters) -> None:
    params = parameters(facebook.decide(also="offered=email", return_scopes="true"))
    token = content(facebook.redeem(params["code"]))["access_token"]

    profile = content(facebook.profile(token, fields=FIELDS))

    assert (params["granted_scopes"], params["denied_scopes"]) == ("public_profile", "email")
    assert "email" not in profile
    assert profile["name"] == "Rhea Quill"


def test_a_ticked_email_is_shared(facebook: Visitor, content: Content, parameters: Parameters) -> None:
    params = parameters(facebook.decide(also="offered=email&share=email"))
    token = content(facebook.redeem(params["code"]))["access_token"]

    assert content(facebook.profile(token, fields="email")) == {"email": "rhea@example.com"}


def test_the_public_profile_is_granted_even_if_only_the_email_was_requested(
    facebook: Visitor, parameters: Parameters
) -> None:
    params = parameters(facebook.decide(scope="email", return_scopes="true"))

    assert params["granted_scopes"] == "email,public_profile"


def test_only_optional_scopes_can_be_declined(facebook: Visitor, parameters: Parameters) -> None:
    params = parameters(facebook.decide(also="offered=public_profile&offered=email", return_scopes="true"))

    assert params["granted_scopes"] == "public_profile"


def test_each_app_gets_a_different_id_of_a_person(facebook: Visitor, content: Content) -> None:
    mine = content(facebook.profile(facebook.login()["access_token"]))
    code = facebook.callback(client_id="theirs")["code"]
    token = content(facebook.redeem(code, client_id="theirs", client_secret="theirs-secret"))["access_token"]

    theirs = content(facebook.profile(token))

    assert mine["name"] == theirs["name"]
    assert mine["id"] != theirs["id"]


def test_a_proof_of_the_app_secret_is_checked_when_it_is_sent(facebook: Visitor, content: Content) -> None:
    token = facebook.login()["access_token"]
    right = hmac.new(b"ours-secret", token.encode(), sha256).hexdigest()

    accepted = facebook.profile(token, appsecret_proof=right)
    refused = facebook.profile(token, appsecret_proof="0" * 64)

    assert accepted.status == 200
    assert (refused.status, content(refused)["error"]["code"]) == (400, 100)
    assert content(refused)["error"]["message"] == "Invalid appsecret_proof provided in the API argument"


def test_debug_token_tells_the_app_what_its_token_is_worth(facebook: Visitor, content: Content, clock: Clock) -> None:
    token = facebook.login()["access_token"]

    def debug(secret: str) -> Answer:
        return facebook.get("/debug_token", {"input_token": token, "access_token": f"ours|{secret}"})

    data = content(debug("ours-secret"))["data"]
    assert data == {
        "app_id": "ours",
        "type": "USER",
        "application": "ours",
        "expires_at": clock() + 5183999,
        "is_valid": True,
        "scopes": ["email", "public_profile"],
        "user_id": content(facebook.profile(token))["id"],
    }
    assert debug("wrong").status == 400
    clock.advance(5183999)
    assert content(debug("ours-secret"))["data"]["is_valid"] is False


@pytest.mark.parametrize(
    ("token", "code", "message"),
    [
        ("", 2500, "An active access token must be used to query information about the current user."),
        ("nonsense", 190, "Invalid OAuth access token - Cannot parse access token"),
    ],
)
def test_a_bad_token_is_refused_with_graphs_code(
    facebook: Visitor, content: Content, token: str, code: int, message: str
) -> None:
    answer = facebook.profile(token)

    error = content(answer)["error"]
    assert (answer.status, error["type"], error["code"], error["message"]) == (400, "OAuthException", code, message)


def test_an_expired_token_has_a_subcode(facebook: Visitor, content: Content, clock: Clock) -> None:
    token = facebook.login()["access_token"]
    clock.advance(5183999)

    error = content(facebook.profile(token))["error"]

    assert (error["code"], error["error_subcode"]) == (190, 463)


def test_a_token_is_exchanged_for_a_fresh_one(facebook: Visitor, content: Content) -> None:
    token = facebook.login()["access_token"]

    fresh = content(facebook.redeem("", grant_type="fb_exchange_token", fb_exchange_token=token))["access_token"]

    assert fresh != token
    assert facebook.profile(fresh).status == 200
    assert "error" in content(facebook.redeem("", grant_type="fb_exchange_token", fb_exchange_token="nonsense"))


def test_an_expired_token_is_not_exchanged(facebook: Visitor, content: Content, clock: Clock) -> None:
    token = facebook.login()["access_token"]
    clock.advance(5183998)
    fresh = facebook.redeem("", grant_type="fb_exchange_token", fb_exchange_token=token)
    clock.advance(1)

    refused = facebook.redeem("", grant_type="fb_exchange_token", fb_exchange_token=token)

    error = content(refused)["error"]
    assert fresh.status == 200
    assert (refused.status, error["type"], error["code"], error["error_subcode"]) == (400, "OAuthException", 190, 463)
    assert error["message"].startswith("Error validating access token: Session has expired on ")


def test_removing_the_permissions_ends_the_token(facebook: Visitor, content: Content) -> None:
    token = facebook.login()["access_token"]

    foreign = facebook.send("DELETE", "/v24.0/123/permissions", f"access_token={token}")
    assert facebook.profile(token).status == 200
    own = facebook.send("DELETE", f"/v24.0/{facebook.subject(token)}/permissions", f"access_token={token}")

    assert (foreign.status, content(foreign)["error"]["type"]) == (400, "GraphMethodException")
    assert content(own) == {"success": True}
    assert facebook.profile(token).status == 400


def test_openid_brings_an_id_token(facebook: Visitor) -> None:
    assert "id_token" in facebook.login(scope="openid,email")
    assert "id_token" not in facebook.login()


# Authorization, further


@pytest.mark.parametrize(
    "changes", [{"response_type": "token"}, {"code_challenge": "x", "code_challenge_method": "plain"}]
)
def test_a_faulty_request_is_told_by_a_code_and_a_message_without_an_error(
    facebook: Visitor, parameters: Parameters, changes: dict[str, str]
) -> None:
    params = parameters(facebook.ask(**changes))

    assert set(params) == {"error_code", "error_message", "state"}
    assert params["error_code"] == "100"


@pytest.mark.parametrize(
    ("changes", "title"),
    [({"client_id": "nobody"}, b"Invalid App ID"), ({"redirect_uri": "https://evil.example/"}, b"URL blocked")],
)
def test_a_foreign_app_or_address_gets_facebooks_page(facebook: Visitor, changes: dict[str, str], title: bytes) -> None:
    answer = facebook.ask(**changes)

    assert (answer.status, title in answer.body) == (400, True)


def test_a_declined_email_is_asked_for_again_only_with_rerequest(facebook: Visitor, content: Content) -> None:
    def shared(**changes: str) -> bool:
        token = facebook.login(**changes)["access_token"]
        return "email" in content(facebook.profile(token, fields=FIELDS))

    facebook.decide(also="offered=email")

    assert not shared()
    assert shared(auth_type="rerequest")
    assert shared()


def test_the_granted_scopes_are_left_out_if_switched_off(facebook: Visitor) -> None:
    facebook.fake.world.switches.set("facebook.granted-scopes", on=False)

    assert set(facebook.callback(return_scopes="true")) == {"code", "state"}


# Token, further


@pytest.mark.parametrize("told", [True, False])
def test_an_expired_code_and_another_address_have_subcodes_or_have_not(
    facebook: Visitor, content: Content, clock: Clock, *, told: bool
) -> None:
    facebook.fake.world.switches.set("facebook.subcodes", on=told)
    code = facebook.callback()["code"]

    elsewhere = content(facebook.redeem(code, redirect_uri="https://chat.example/x"))["error"]
    clock.advance(600)
    late = content(facebook.redeem(code))["error"]

    subcodes = (elsewhere.get("error_subcode"), late.get("error_subcode"))
    assert subcodes == ((36008, 36007) if told else (None, None))


def test_the_token_endpoint_takes_a_form_too(facebook: Visitor, content: Content) -> None:
    assert "access_token" in content(facebook.redeem(facebook.callback()["code"], grant_type=None))


# Graph, further


def test_a_proof_of_the_app_secret_may_be_demanded(facebook: Visitor, content: Content) -> None:
    token = facebook.login()["access_token"]
    facebook.fake.world.switches.set("facebook.require-proof", on=True)
    right = hmac.new(b"ours-secret", token.encode(), sha256).hexdigest()

    refused = facebook.profile(token)
    accepted = facebook.profile(token, appsecret_proof=right)

    error = content(refused)["error"]
    assert (refused.status, error["type"], error["code"]) == (400, "GraphMethodException", 100)
    assert accepted.status == 200


def test_a_missing_token_may_be_401(facebook: Visitor) -> None:
    facebook.fake.world.switches.set("facebook.missing-token-401", on=True)

    assert facebook.get("/me").status == 401
    assert facebook.profile("nonsense").status == 400


def test_a_graph_answer_tells_its_version_or_does_not(facebook: Visitor) -> None:
    token = facebook.login()["access_token"]

    asked, newest = (dict(facebook.profile(token, path).headers) for path in ("/v16.0/me", "/me"))
    facebook.fake.world.switches.set("facebook.graph-headers", on=False)
    without = dict(facebook.profile(token).headers)

    assert (asked["facebook-api-version"], newest["facebook-api-version"]) == ("v16.0", "v24.0")
    assert "call_count" in asked["x-app-usage"]
    assert not {"facebook-api-version", "x-app-usage"} & set(without)


def test_the_token_of_the_profile_may_come_in_the_address(facebook: Visitor, content: Content) -> None:
    token = facebook.login()["access_token"]

    assert content(facebook.get("/me", {"access_token": token})) == content(facebook.profile(token))


def test_limited_login_has_a_document_and_keys_with_a_slash_at_the_end(facebook: Visitor, content: Content) -> None:
    document = content(facebook.get("/.well-known/openid-configuration/"))

    assert document["issuer"] == "https://id.localhost/facebook"
    assert facebook.get(document["jwks_uri"].removeprefix("https://id.localhost/facebook")).status == 200


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"client_id": None}, 101, "Missing client_id parameter."),
        ({"client_id": "nobody"}, 101, "Error validating application. Cannot get application info."),
        ({"client_secret": None}, 1, "Error validating client secret."),
        ({"client_secret": "wrong"}, 1, "Error validating client secret."),
    ],
)
def test_a_client_that_is_missing_is_told_from_an_unknown_one(
    facebook: Visitor, content: Content, changes: dict[str, Any], code: int, message: str
) -> None:
    answer = facebook.redeem(facebook.callback()["code"], **changes)

    error = content(answer)["error"]
    assert (answer.status, error["code"], error["message"]) == (400, code, message)
