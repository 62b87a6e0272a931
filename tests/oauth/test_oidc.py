"""Tests of what only the generic issuer has: custom claims, lifetimes, client credentials, and error messages."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import Visitor, claims_of, content

from chatkey_oauth.engine.people import Person
from chatkey_oauth.settings import Settings, SettingsError, read_claims, read_lifetimes

if TYPE_CHECKING:
    from pathlib import Path

    from chatkey_oauth.app import App
    from chatkey_oauth.clock import Clock

    MakeFake = Callable[..., App]

OURS = "Basic " + b64encode(b"ours:ours-secret").decode()
CREDENTIALS = {"grant_type": "client_credentials", "client_id": "ours", "client_secret": "ours-secret"}


def test_both_metadata_documents_are_the_same(oidc: Visitor) -> None:
    document = oidc.get("/.well-known/openid-configuration")

    assert oidc.get("/.well-known/oauth-authorization-server").body == document.body


def test_scopes_open_claims_in_id_token_and_userinfo_alike(oidc: Visitor) -> None:
    token = oidc.login(nonce="n-1")

    told = content(oidc.profile(token["access_token"]))

    claims = claims_of(token["id_token"])
    assert {name: claims[name] for name in told} == told
    assert (told["name"], told["email"], told["email_verified"]) == ("Rhea Quill", "rhea@example.com", True)
    assert claims["nonce"] == "n-1"


def test_claims_are_as_the_account_has_them(oidc: Visitor) -> None:
    wished = {
        "groups": ["admin", "staff"],
        "email": "other@example.com",
        "picture": None,
        "aud": "x",
        "exp": 1,
        "sub": "y",
    }
    oidc.fake.world.people.put(Person(id="ada", name="Ada L", email="ada@example.com", claims=wished))

    token = oidc.login("ada")

    for claims in (content(oidc.profile(token["access_token"])), claims_of(token["id_token"])):
        assert (claims["groups"], claims["email"]) == (["admin", "staff"], "other@example.com")
        assert "picture" not in claims
        assert claims["sub"] != "y"
        assert claims.get("aud", "ours") == "ours"


def test_claims_come_from_a_file_for_one_account_or_for_everybody(make_fake: MakeFake, tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_text(json.dumps({"*": {"tenant": "t-1", "tier": "free"}, "omar": {"tier": "paid"}}))
    oidc = Visitor(make_fake(claims=read_claims(path)), "oidc")

    told = {who: content(oidc.profile(oidc.access_token(who))) for who in ("rhea", "omar")}

    assert {who: (claims["tenant"], claims["tier"]) for who, claims in told.items()} == {
        "rhea": ("t-1", "free"),
        "omar": ("t-1", "paid"),
    }


@pytest.mark.parametrize("text", ["", "[]", '{"rhea": 1}', "nonsense"])
def test_an_unusable_claims_file_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "claims.json"
    path.write_text(text)

    with pytest.raises(SettingsError, match=r"claims\.json does not have"):
        read_claims(path)


def test_claims_for_an_unknown_person_are_reported() -> None:
    with pytest.raises(SettingsError, match="there is no account 'who'"):
        Settings(claims={"who": {}})


def test_lifetimes_are_as_told_at_the_start(make_fake: MakeFake, clock: Clock) -> None:
    lifetimes = read_lifetimes(["code=5", "access=60", "refresh=300", "id=30"])
    oidc = Visitor(make_fake(lifetimes=lifetimes), "oidc")
    late = oidc.callback()["code"]
    clock.advance(5)

    expired = oidc.redeem(late)
    token = oidc.login(scope="openid offline_access")
    claims = claims_of(token["id_token"])
    refresh = {"grant_type": "refresh_token", "refresh_token": token["refresh_token"]}
    clock.advance(300)

    assert content(expired)["error"] == "invalid_grant"
    assert (token["expires_in"], claims["exp"] - claims["iat"]) == (60, 30)
    assert content(oidc.redeem(None, **refresh))["error"] == "invalid_grant"


@pytest.mark.parametrize("text", ["access", "access=", "access=x", "access=-1", "session=5", "access=0000000001"])
def test_an_invalid_lifetime_is_reported(text: str) -> None:
    with pytest.raises(SettingsError, match="--lifetime"):
        read_lifetimes([text])


def test_offline_access_brings_a_refresh_token_that_serves_once(oidc: Visitor) -> None:
    first = oidc.login(scope="openid offline_access")
    refresh = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}

    second, again = (content(oidc.redeem(None, **refresh)) for _ in range(2))

    assert "refresh_token" not in oidc.login()
    assert claims_of(second["id_token"])["sub"] == claims_of(first["id_token"])["sub"]
    assert again["error"] == "invalid_grant"


def test_a_refresh_may_ask_for_fewer_scopes_and_the_next_one_has_them_all(oidc: Visitor) -> None:
    def refresh(token: str, scope: str | None) -> Any:
        return content(oidc.refresh(token, scope=scope))

    whole = oidc.login(scope="openid email offline_access")["refresh_token"]
    more = refresh(whole, "openid profile")
    fewer = refresh(whole, "email")
    profile = oidc.profile(fewer["access_token"])
    same = refresh(fewer["refresh_token"], None)

    assert more["error"] == "invalid_scope"
    assert (fewer["scope"], same["scope"]) == ("email", "openid email offline_access")
    assert profile.status == 403
    assert "id_token" in same
    assert "id_token" not in fewer


def test_a_machine_gets_a_token_of_its_own(oidc: Visitor) -> None:
    token = content(oidc.post("/token", CREDENTIALS | {"scope": "jobs:run openid"}))

    told = content(oidc.post("/introspect", {"token": token["access_token"]}, authorization=OURS))

    assert token["scope"] == "jobs:run openid"
    assert not {"id_token", "refresh_token"} & set(token)
    assert (told["active"], told["sub"], told["scope"]) == (True, "ours", "jobs:run openid")
    assert oidc.profile(token["access_token"]).status == 401


def test_a_token_taken_back_is_no_longer_active(oidc: Visitor) -> None:
    token = {"token": oidc.access_token()}

    before = content(oidc.post("/introspect", token, authorization=OURS))
    oidc.post("/revoke", token, authorization=OURS)
    after = content(oidc.post("/introspect", token, authorization=OURS))

    assert (before["active"], after) == (True, {"active": False})
    assert oidc.profile(token["token"]).status == 401


@pytest.mark.parametrize(
    ("token", "scope", "status", "challenge"),
    [
        ("", "openid", 401, "Bearer"),
        ("nonsense", "openid", 401, 'Bearer error="invalid_token"'),
        (None, "email", 403, 'Bearer error="insufficient_scope", scope="openid"'),
    ],
)
def test_userinfo_refuses_as_the_standard_says(
    oidc: Visitor, token: str | None, scope: str, status: int, challenge: str
) -> None:
    text = oidc.access_token(scope=scope) if token is None else token

    answer = oidc.profile(text) if text else oidc.get("/userinfo")

    assert (answer.status, dict(answer.headers)["www-authenticate"]) == (status, challenge)


def test_userinfo_takes_the_token_in_a_form_and_not_in_the_address(oidc: Visitor) -> None:
    token = {"access_token": oidc.access_token()}

    form, address = oidc.post("/userinfo", token), oidc.get("/userinfo", token)
    as_json = oidc.post("/userinfo", json.dumps(token).encode(), content_type="application/json")

    assert (form.status, content(form)["email"]) == (200, "rhea@example.com")
    assert (address.status, as_json.status) == (401, 401)


def test_a_bad_basic_header_gets_www_authenticate_and_a_bad_form_does_not(oidc: Visitor) -> None:
    code = oidc.callback()["code"]

    by_basic = oidc.redeem(code, basic="Basic " + b64encode(b"ours:wrong").decode())
    by_form = oidc.redeem(code, client_secret="wrong")

    assert (by_basic.status, by_form.status) == (401, 401)
    assert dict(by_basic.headers)["www-authenticate"] == 'Basic realm="token"'
    assert "www-authenticate" not in dict(by_form.headers)
