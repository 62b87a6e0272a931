"""Tests of Discord's peculiarities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oauth.visitor import Visitor, content, parameters

from chatkey_oauth.engine.clients import Client

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

COOKIE = "chatkey_fake_discord=rhea"


@pytest.mark.parametrize("path", ["/oauth2/authorize", "/api/oauth2/authorize", "/api/v10/oauth2/authorize"])
def test_authorize_has_several_spellings(discord: Visitor, path: str) -> None:
    assert discord.get(path, discord.request()).status == 200


def test_a_user_has_a_snowflake_as_text(discord: Visitor) -> None:
    user = content(discord.profile(discord.access_token(), "/api/v10/users/@me"))

    assert isinstance(user["id"], str)
    assert int(user["id"]) > 2**53
    assert (user["username"], user["global_name"], user["discriminator"]) == ("rquill", "Rhea Quill", "0")
    assert (user["email"], user["verified"]) == ("rhea@example.com", True)
    assert user["avatar"].startswith("a_")


def test_an_email_is_absent_without_its_scope(discord: Visitor) -> None:
    user = content(discord.profile(discord.access_token(scope="identify")))

    assert not {"email", "verified"} & set(user)


def test_a_public_client_proves_itself_by_pkce_alone(discord: Visitor) -> None:
    from chatkey_oauth.engine.pkce import s256  # noqa: PLC0415 - only here

    public = Client(provider="discord", client_id="public", redirect_uris=("https://chat.example/callback",))
    discord.fake.world.clients.add(public)
    challenge = {"code_challenge": s256("v" * 43), "code_challenge_method": "S256"}
    code = discord.callback(client_id="public", **challenge)["code"]

    wrong = discord.redeem(code, client_id="public", client_secret=None, code_verifier="w" * 43)
    right = discord.redeem(code, client_id="public", client_secret=None, code_verifier="v" * 43)

    assert content(wrong)["error"] == "invalid_grant"
    assert "access_token" in content(right)
    assert b"error=invalid_request" in dict(discord.ask(client_id="public").headers)["location"].encode()


def test_prompt_none_skips_the_page_only_after_an_equal_approval(discord: Visitor) -> None:
    def ask(**changes: str) -> Answer:
        params = discord.request(**{"prompt": "none", "scope": "identify"} | changes)
        return discord.get("/oauth2/authorize", params, cookie=f"other=1; {COOKIE}")

    before = ask()
    cookie = dict(discord.decide(scope="identify").headers)["set-cookie"]
    after = ask()

    assert before.status == 200
    assert cookie == f"{COOKIE}; Path=/discord; HttpOnly; SameSite=Lax; Secure"
    assert "code" in parameters(after)
    assert ask(scope="identify email").status == 200
    assert ask(prompt="consent").status == 200
    assert discord.ask(prompt="none", scope="identify").status == 200


def test_the_authorization_tells_what_a_token_is(discord: Visitor) -> None:
    answer = content(discord.profile(discord.access_token(), "/api/oauth2/@me"))

    assert answer["application"] == {"id": "ours", "name": "ours"}
    assert answer["scopes"] == ["identify", "email", "openid"]
    assert answer["user"]["username"] == "rquill"


def test_userinfo_needs_openid(discord: Visitor) -> None:
    without = discord.access_token(scope="identify")
    claims = content(discord.profile(discord.access_token(), "/api/oauth2/userinfo"))

    assert discord.profile(without, "/api/oauth2/userinfo").status == 401
    assert (claims["preferred_username"], claims["email_verified"]) == ("rquill", True)


def test_the_metadata_says_more_than_the_discovery_document(discord: Visitor) -> None:
    small = content(discord.get("/.well-known/openid-configuration"))
    large = content(discord.get("/.well-known/oauth-authorization-server"))

    assert small.items() <= large.items()
    assert large["token_endpoint_auth_methods_supported"][-1] == "none"


@pytest.mark.parametrize(("short", "seconds"), [(True, 100), (False, 600)])
def test_a_code_lives_as_long_as_its_switch_says(discord: Visitor, *, short: bool, seconds: int) -> None:
    discord.switch("short-codes", on=short)
    in_time, late = discord.callback()["code"], discord.callback()["code"]
    discord.clock.advance(seconds - 1)
    assert "access_token" in content(discord.redeem(in_time))

    discord.clock.advance(1)

    assert content(discord.redeem(late))["error"] == "invalid_grant"


def test_revoking_takes_the_tokens_of_other_logins_of_the_same_person_too(discord: Visitor) -> None:
    first, second, other = discord.login(), discord.login(), discord.login("omar")
    ours = {"client_id": "ours", "client_secret": "ours-secret", "token": first["access_token"]}

    foreign = discord.post("/api/oauth2/token/revoke", ours | {"client_id": "theirs", "client_secret": "theirs-secret"})
    assert (foreign.status, discord.profile(first["access_token"]).status) == (200, 200)
    discord.post("/api/v10/oauth2/token/revoke", ours)

    statuses = [discord.profile(token["access_token"]).status for token in (first, second, other)]
    assert statuses == [401, 401, 200]


def test_revoking_needs_a_post(discord: Visitor) -> None:
    assert discord.get("/api/oauth2/token/revoke", {"token": "x"}).status == 405


def test_the_user_needs_the_scope_identify(discord: Visitor) -> None:
    token = discord.access_token(scope="openid")

    authorization = content(discord.profile(token, "/api/oauth2/@me"))

    assert discord.profile(token).status == 401
    assert "user" not in authorization
    assert authorization["scopes"] == ["openid"]
    assert authorization["expires"].endswith("+00:00")


@pytest.mark.parametrize("path", ["/api/users/@me", "/api/v10/oauth2/@me"])
def test_an_answer_of_the_api_tells_the_rate_limit_of_its_route(discord: Visitor, path: str) -> None:
    headers = dict(discord.profile(discord.access_token(), path).headers)
    refused = dict(discord.profile("no-token", path).headers)

    assert (headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]) == ("5", "4")
    assert float(headers["x-ratelimit-reset"]) == discord.clock() + float(headers["x-ratelimit-reset-after"])
    assert len(headers["x-ratelimit-bucket"]) == 32
    assert "x-ratelimit-bucket" not in refused


@pytest.mark.parametrize("path", ["/api/users/@me", "/api/oauth2/@me", "/api/users/@me/guilds"])
@pytest.mark.parametrize("good", [True, False])
def test_json_is_named_without_a_charset(discord: Visitor, path: str, *, good: bool) -> None:
    token = discord.access_token(scope="identify guilds") if good else "nonsense"

    answer = discord.profile(token, path)

    assert (answer.status, dict(answer.headers)["content-type"]) == (200 if good else 401, "application/json")


def test_token_answers_are_named_without_a_charset(discord: Visitor) -> None:
    refused = discord.redeem("nonsense")

    assert (refused.status, dict(refused.headers)["content-type"]) == (400, "application/json")


@pytest.mark.parametrize("what", ["guilds", "connections"])
def test_servers_and_connections_of_a_person_are_empty(discord: Visitor, what: str) -> None:
    allowed, not_asked = (discord.access_token(scope=scope) for scope in (f"identify {what}", "identify"))

    assert content(discord.profile(allowed, f"/api/users/@me/{what}")) == []
    assert discord.profile(not_asked, f"/api/users/@me/{what}").status == 401


# Tokens of applications themselves

MACHINE = {"grant_type": "client_credentials", "client_id": "ours", "client_secret": "ours-secret"}


def test_an_application_gets_a_token_of_its_owners(discord: Visitor) -> None:
    token = content(discord.post("/api/v10/oauth2/token", MACHINE | {"scope": "identify connections openid"}))

    user = content(discord.profile(token.pop("access_token")))

    assert token == {"token_type": "Bearer", "expires_in": 604800, "scope": "identify connections openid"}
    assert user == content(discord.profile(discord.access_token("rhea", scope="identify")))


def test_an_application_whose_owner_is_gone_gets_a_token_that_opens_nothing(discord: Visitor) -> None:
    for person in discord.fake.world.people.all():
        discord.fake.world.people.remove(person.id)

    token = content(discord.post("/api/oauth2/token", MACHINE | {"scope": "identify"}))

    assert discord.profile(token["access_token"]).status == 401
