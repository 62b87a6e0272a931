"""Tests of X's peculiarities."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.pkce import s256

if TYPE_CHECKING:
    from tests.oauth.visitor import Visitor

    from chatkey_oauth.app import App
    from chatkey_oauth.clock import Clock
    from chatkey_oauth.engine.http import Answer

    Content = Callable[[Answer], Any]
    Parameters = Callable[[Answer], dict[str, str]]

CALLBACK = "https://chat.example/callback"
FORM = "application/x-www-form-urlencoded"
SCOPE = "tweet.read users.read users.email offline.access"
BASIC = f"Basic {b64encode(b'ours:ours-secret').decode()}"
UNAUTHORIZED = {"error": "unauthorized_client", "error_description": "Missing valid authorization header"}
BAD_CODE = {
    "error": "invalid_request",
    "error_description": "Value passed for the authorization code was invalid.",
}


def decoded(token: str) -> list[str]:
    return urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().split(":")


def register(visitor: Visitor, **members: Any) -> None:
    known = {"provider": "x", "client_id": "ours", "client_secret": "ours-secret", "redirect_uris": (CALLBACK,)}
    visitor.fake.world.clients.add(Client(**(known | members)))


# Authorization endpoint


@pytest.mark.parametrize(
    "name",
    ["response_type", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"],
)
@pytest.mark.parametrize("value", [None, ""])
def test_every_parameter_is_required(x: Visitor, name: str, value: str | None) -> None:
    answer = x.ask(**{name: value})

    assert answer.status == 400
    assert "location" not in dict(answer.headers)
    assert b"Something went wrong" in answer.body
    assert b"You weren&#x27;t able to give access to the App." in answer.body
    assert name.encode() in answer.body


@pytest.mark.parametrize(
    "changes",
    [{"client_id": None}, {"client_id": "nobody"}, {"redirect_uri": f"{CALLBACK}/"}, {"response_type": "token"}],
)
def test_every_other_fault_is_reported_on_the_same_page(x: Visitor, changes: dict[str, str | None]) -> None:
    answer = x.ask(**changes)

    assert answer.status == 400
    assert b"Something went wrong" in answer.body


def test_a_state_has_500_characters_at_most(x: Visitor) -> None:
    longest, too_long = x.ask(state="s" * 500), x.ask(state="s" * 501)

    assert longest.status == 200
    assert too_long.status == 400
    assert b"longer than 500 characters" in too_long.body


@pytest.mark.parametrize("method", ["S256", "s256", "plain", "PLAIN", "Plain"])
@pytest.mark.parametrize("verifier", ["v" * 32, "v" * 43])
def test_the_method_may_be_written_in_any_case_and_the_verifier_be_short(
    x: Visitor, content: Content, method: str, verifier: str
) -> None:
    challenge = verifier if method.lower() == "plain" else s256(verifier)
    code = x.callback(code_challenge=challenge, code_challenge_method=method)["code"]

    answer = x.redeem(code, code_verifier=verifier)

    assert "access_token" in content(answer)


def test_an_unknown_method_is_told_on_the_page(x: Visitor) -> None:
    answer = x.ask(code_challenge_method="S512")

    assert answer.status == 400
    assert b"Something went wrong" in answer.body


def test_the_callback_has_the_state_before_the_code(x: Visitor) -> None:
    assert list(x.callback()) == ["state", "code"]


def test_a_denial_has_an_error_and_the_state(x: Visitor, parameters: Parameters) -> None:
    assert parameters(x.decide(decision="deny")) == {"error": "access_denied", "state": "st-1"}


def test_a_denial_may_be_described(x: Visitor, parameters: Parameters) -> None:
    x.fake.world.switches.set("x.deny-description", on=True)

    assert parameters(x.decide(decision="deny")) == {
        "error": "access_denied",
        "error_description": "The user denied the request.",
        "state": "st-1",
    }


# Token endpoint


def test_the_token_answer_looks_like_xs(x: Visitor, clock: Clock) -> None:
    token = x.login(scope=SCOPE)

    assert list(token) == ["token_type", "expires_in", "access_token", "scope", "refresh_token"]
    assert (token["token_type"], token["expires_in"], token["scope"]) == ("bearer", 7200, SCOPE)
    milliseconds = str(int(clock() * 1000))
    assert decoded(token["access_token"])[1:] == [milliseconds, "1", "1", "at", "1"]
    assert decoded(token["refresh_token"])[1:] == [milliseconds, "1", "1", "rt", "1"]


def test_a_code_is_base64(x: Visitor) -> None:
    assert decoded(x.callback()["code"])[2:] == ["1", "1", "ac", "1"]


def test_a_refresh_token_comes_only_with_offline_access(x: Visitor) -> None:
    assert "refresh_token" not in x.login(scope="tweet.read users.read")


def test_a_code_lives_thirty_seconds(x: Visitor, content: Content, clock: Clock) -> None:
    in_time, late = x.callback()["code"], x.callback()["code"]
    clock.advance(29)
    assert x.redeem(in_time).status == 200

    clock.advance(1)

    answer = x.redeem(late)
    assert (answer.status, content(answer)) == (400, BAD_CODE)


@pytest.mark.parametrize(
    ("changes", "status", "body"),
    [
        ({"code": "wrong"}, 400, BAD_CODE),
        ({"client_id": "theirs", "client_secret": "theirs-secret"}, 400, BAD_CODE),
        (
            {"code_verifier": "w" * 43},
            400,
            {
                "error": "invalid_request",
                "error_description": "Value passed for the code verifier did not match the code challenge.",
            },
        ),
        (
            {"code_verifier": None},
            400,
            {"error": "invalid_request", "error_description": "Missing required parameter [code_verifier]."},
        ),
        (
            {"code": None},
            400,
            {"error": "invalid_request", "error_description": "Missing required parameter [code]."},
        ),
        (
            {"grant_type": None},
            400,
            {"error": "invalid_request", "error_description": "Missing required parameter [grant_type]."},
        ),
        (
            {"grant_type": "password"},
            400,
            {
                "error": "invalid_request",
                "error_description": "Value passed for the grant type was invalid. "
                "Grant type should be one of [authorization_code, refresh_token].",
            },
        ),
        (
            {"redirect_uri": "https://chat.example/other"},
            400,
            {
                "error": "invalid_request",
                "error_description": "Value passed for the redirect uri did not match the uri of the authorization "
                "code.",
            },
        ),
        (
            {"grant_type": "refresh_token", "refresh_token": "dead"},
            400,
            {"error": "invalid_request", "error_description": "Value passed for the token was invalid."},
        ),
        ({"client_secret": "wrong"}, 401, UNAUTHORIZED),
        ({"client_id": "nobody"}, 401, {"error": "invalid_client"}),
    ],
)
def test_a_refused_token_request_has_xs_words(
    x: Visitor, content: Content, changes: dict[str, str | None], status: int, body: dict[str, str]
) -> None:
    code = x.callback()["code"]

    request = {"code": code, **changes}
    answer = x.redeem(request.pop("code"), basic="", accept="*/*", content_type=FORM, **request)

    assert (answer.status, content(answer)) == (status, body)
    assert x.redeem(code).status == 200


def test_a_used_code_is_an_invalid_request(x: Visitor, content: Content) -> None:
    code = x.callback()["code"]
    assert x.redeem(code).status == 200

    answer = x.redeem(code)

    assert (answer.status, content(answer)) == (400, BAD_CODE)


def form(code: str, **more: str) -> dict[str, str]:
    """Return a token request without client authentication."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    given = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": verifier}
    return given | more


def test_a_confidential_client_proves_itself_by_basic_only(x: Visitor, content: Content) -> None:
    code = x.callback()["code"]

    posted = x.post("/2/oauth2/token", form(code, client_id="ours", client_secret="ours-secret"))
    named = x.post("/2/oauth2/token", form(code, client_id="ours"))
    both = x.post("/2/oauth2/token", form(code, client_id="ours"), authorization=BASIC)

    assert (posted.status, content(posted)) == (401, UNAUTHORIZED)
    assert (named.status, content(named)) == (401, UNAUTHORIZED)
    assert both.status == 200


def test_a_public_client_names_itself_in_the_body(x: Visitor, content: Content) -> None:
    register(x, client_id="public", client_secret="")
    code = x.callback(client_id="public", scope=SCOPE)["code"]

    answer = x.post("/2/oauth2/token", form(code, client_id="public"))
    refreshed = x.post(
        "/2/oauth2/token",
        {"grant_type": "refresh_token", "refresh_token": content(answer)["refresh_token"], "client_id": "public"},
    )

    assert (answer.status, refreshed.status) == (200, 200)


def test_an_unknown_client_may_get_the_same_error_as_others(x: Visitor, content: Content) -> None:
    x.fake.world.switches.set("x.unknown-client", on=False)

    answer = x.redeem("any", client_id="nobody")

    assert (answer.status, content(answer)) == (401, UNAUTHORIZED)


def test_the_client_id_may_be_required_beside_the_header(x: Visitor, content: Content) -> None:
    x.fake.world.switches.set("x.client-id-in-body", on=True)
    code = x.callback()["code"]

    without = x.redeem(code)
    named = x.post("/2/oauth2/token", form(code, client_id="ours"), authorization=BASIC)

    assert content(without)["error_description"] == "Missing required parameter [client_id]."
    assert named.status == 200


def test_a_refresh_token_is_used_once_and_ends_the_pair_it_came_with(x: Visitor, content: Content) -> None:
    old = x.login(scope=SCOPE)

    new = content(x.redeem("", grant_type="refresh_token", refresh_token=old["refresh_token"]))
    again = x.redeem("", grant_type="refresh_token", refresh_token=old["refresh_token"])

    assert new["refresh_token"] != old["refresh_token"]
    assert x.profile(new["access_token"]).status == 200
    assert x.profile(old["access_token"]).status == 401
    assert (again.status, content(again)["error_description"]) == (400, "Value passed for the token was invalid.")


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_token_is_revoked(x: Visitor, content: Content, kind: str) -> None:
    token = x.login(scope=SCOPE)

    answer = x.post("/2/oauth2/revoke", {"token": token[kind], "token_type_hint": kind}, authorization=BASIC)

    assert (answer.status, content(answer)) == (200, {"revoked": True})
    assert x.profile(token["access_token"]).status == 401


def test_the_answer_to_a_revocation_may_be_empty(x: Visitor, content: Content) -> None:
    x.fake.world.switches.set("x.revoked-body", on=False)

    assert content(x.post("/2/oauth2/revoke", {"token": "unknown"}, authorization=BASIC)) == {}


def test_revoking_needs_the_own_clients_secret(x: Visitor, content: Content) -> None:
    token = x.login()["access_token"]
    theirs = f"Basic {b64encode(b'theirs:theirs-secret').decode()}"

    unproven = x.post("/2/oauth2/revoke", {"token": token, "client_id": "ours"})
    foreign = x.post("/2/oauth2/revoke", {"token": token}, authorization=theirs)
    empty = x.post("/2/oauth2/revoke", {}, authorization=BASIC)

    assert (unproven.status, content(unproven)) == (401, UNAUTHORIZED)
    assert foreign.status == 200
    assert content(empty)["error_description"] == "Missing required parameter [token]."
    assert x.profile(token).status == 200


# User


def test_a_user_comes_in_an_envelope_with_three_members(x: Visitor, content: Content) -> None:
    answer = x.profile(x.login()["access_token"])

    data = content(answer)["data"]
    assert (data["name"], data["username"], len(data["id"])) == ("Rhea Quill", "rquill", 13)
    assert set(content(answer)) == {"data"}
    assert set(data) == {"id", "name", "username"}


def test_fields_are_asked_for(x: Visitor, content: Content) -> None:
    token = x.login(scope=SCOPE)["access_token"]

    answer = x.profile(token, **{"user.fields": "profile_image_url,confirmed_email,verified,location"})

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
    x: Visitor, content: Content, person: str, scope: str, permitted: bool
) -> None:
    register(x, request_email=permitted)
    token = x.login(person, scope=scope)["access_token"]

    answer = x.profile(token, **{"user.fields": "confirmed_email"})

    assert answer.status == 200
    assert set(content(answer)) == {"data"}
    assert "confirmed_email" not in content(answer)["data"]


def test_an_address_that_may_not_be_read_may_be_explained(x: Visitor, content: Content) -> None:
    x.fake.world.switches.set("x.field-errors", on=True)
    without, with_scope = x.login()["access_token"], x.login(scope=SCOPE)["access_token"]

    refused = content(x.profile(without, **{"user.fields": "confirmed_email"}))
    allowed = content(x.profile(with_scope, **{"user.fields": "confirmed_email"}))

    (error,) = refused["errors"]
    assert (error["title"], error["field"]) == ("Field Authorization Error", "confirmed_email")
    assert refused["data"]["name"] == "Rhea Quill"
    assert set(allowed) == {"data"}


def test_a_missing_name_is_replaced_by_the_user_name(x: Visitor, content: Content) -> None:
    data = content(x.profile(x.login("noname")["access_token"]))["data"]

    assert (data["name"], data["username"]) == ("noname99", "noname99")


def test_an_unknown_field_is_a_problem(x: Visitor, content: Content) -> None:
    token = x.login()["access_token"]

    answer = x.profile(token, **{"user.fields": "name,shoe_size"})

    problem = content(answer)
    assert (answer.status, dict(answer.headers)["content-type"]) == (400, "application/problem+json")
    assert problem["title"] == "Invalid Request"
    assert problem["errors"][0]["parameters"] == {"user.fields": ["shoe_size"]}


@pytest.mark.parametrize("scope", ["users.read", "tweet.read", "users.email offline.access"])
def test_both_scopes_are_needed(x: Visitor, content: Content, scope: str) -> None:
    answer = x.profile(x.login(scope=scope)["access_token"])

    assert (answer.status, content(answer)) == (
        403,
        {"title": "Forbidden", "type": "about:blank", "status": 403, "detail": "Forbidden"},
    )


def test_a_bad_token_is_a_problem(x: Visitor, content: Content, clock: Clock) -> None:
    token = x.login()["access_token"]
    clock.advance(7200)

    for answer in (x.profile(token), x.profile("nonsense"), x.get("/2/users/me", {"access_token": token})):
        assert dict(answer.headers)["content-type"] == "application/problem+json"
        assert (answer.status, content(answer)) == (
            401,
            {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"},
        )


def test_every_answer_has_the_rate_limit_headers(x: Visitor, clock: Clock) -> None:
    token = x.login()["access_token"]

    first, second = dict(x.profile(token).headers), dict(x.profile(token).headers)
    clock.advance(15 * 60)
    later = dict(x.profile(token).headers)

    assert (first["x-rate-limit-limit"], first["x-rate-limit-remaining"]) == ("75", "74")
    assert first["x-rate-limit-reset"] == second["x-rate-limit-reset"] == str(int(clock()))
    assert (second["x-rate-limit-remaining"], later["x-rate-limit-remaining"]) == ("73", "74")


def test_the_rate_limit_applies_only_if_switched_on(x: Visitor, content: Content, clock: Clock) -> None:
    token, other = x.login()["access_token"], x.login("omar")["access_token"]
    for _ in range(76):
        assert x.profile(token).status == 200

    x.fake.world.switches.set("x.rate-limit", on=True)
    refused = x.profile(token)

    assert (refused.status, dict(refused.headers)["content-type"]) == (429, "application/problem+json")
    assert content(refused)["title"] == "Too Many Requests"
    assert dict(refused.headers)["x-rate-limit-remaining"] == "0"
    assert dict(refused.headers)["x-rate-limit-reset"] == str(int(clock()) + 15 * 60)
    assert x.profile(other).status == 200
    clock.advance(15 * 60)
    assert x.profile(token).status == 200


def test_a_reset_resets_the_rate_limit(fake: App, x: Visitor) -> None:
    x.profile(x.login()["access_token"])

    fake.reset()

    headers = dict(x.profile(x.login()["access_token"]).headers)
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
