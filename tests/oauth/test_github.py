"""Tests of GitHub's peculiarities."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.oauth.visitor import NOW, Visitor, content, parameters

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.pkce import s256

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer

FORM = "application/x-www-form-urlencoded; charset=utf-8"


@pytest.mark.parametrize(
    ("accept", "content_type", "start"),
    [
        ("*/*", FORM, b"access_token=gho_"),
        ("", FORM, b"access_token=gho_"),
        ("application/json", "application/json; charset=utf-8", b'{"access_token":"gho_'),
        ("application/xml", "application/xml; charset=utf-8", b"<OAuth><token_type>bearer</token_type><scope>"),
    ],
)
def test_the_token_comes_in_the_encoding_asked_for(
    github: Visitor, accept: str, content_type: str, start: bytes
) -> None:
    answer = github.redeem(github.callback()["code"], accept=accept)

    assert (answer.status, dict(answer.headers)["content-type"]) == (200, content_type)
    assert answer.body.startswith(start)


def test_the_form_encoded_answer_has_the_scopes_with_commas(github: Visitor) -> None:
    body = github.redeem(github.callback()["code"], accept="*/*").body.decode()

    assert body.partition("&")[2] == "token_type=bearer&scope=read%3Auser%2Cuser%3Aemail"


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/xml"])
def test_errors_come_with_200_in_the_same_encodings(github: Visitor, accept: str) -> None:
    answer = github.redeem("0" * 20, accept=accept)

    assert answer.status == 200
    assert b"bad_verification_code" in answer.body


def test_a_checked_request_without_grant_type_and_redirect_uri_is_enough(github: Visitor) -> None:
    code = github.callback(redirect_uri=None, response_type=None)["code"]
    body = f'{{"client_id":"ours","client_secret":"ours-secret","code":"{code}"}}'.encode()

    answer = github.post("/login/oauth/access_token", body, content_type="application/json", accept="application/json")

    assert "access_token" in content(answer)


def test_a_redirect_uri_may_lie_below_the_registered_one(github: Visitor) -> None:
    uri = "https://chat.example/callback/github"

    answer = github.decide(redirect_uri=uri)

    assert dict(answer.headers)["location"].startswith(f"{uri}?code=")


@pytest.mark.parametrize(
    "uri",
    [
        "https://chat.example/callback/../admin",
        "https://chat.example/callback/%2e%2e/admin",
        "https://chat.example/callback/..\\admin",
        "https://chat.example/callback/x#y",
        "https://chat.example:444/callback/x",
        "http://chat.example/callback/x",
    ],
)
def test_a_redirect_uri_that_only_seems_to_lie_below_is_reported_to_the_registered_one(
    github: Visitor, uri: str
) -> None:
    params = parameters(github.ask(redirect_uri=uri))

    assert params["error"] == "redirect_uri_mismatch"
    assert params["state"] == "st-1"


def test_metadata_is_at_both_of_its_places_and_not_at_the_root(github: Visitor) -> None:
    first = content(github.get("/.well-known/oauth-authorization-server/login/oauth"))
    second = content(github.get("/login/oauth/.well-known/openid-configuration"))

    assert first == second
    assert first["issuer"] == "https://id.localhost/github/login/oauth"
    assert first["code_challenge_methods_supported"] == ["S256"]
    assert github.get("/.well-known/openid-configuration").status == 404


@pytest.mark.parametrize("issuer", ["https://github.com", "https://github.com/login/oauth"])
def test_the_real_issuer_may_be_given_with_its_path_or_without(make_fake: Callable[..., App], issuer: str) -> None:
    fake = make_fake(issuers={"github": issuer})

    metadata = content(fake.answer(Call("GET", "/github/login/oauth/.well-known/openid-configuration")))

    assert metadata["issuer"] == "https://github.com/login/oauth"


@pytest.mark.parametrize(
    ("inserted", "own"),
    [
        ("oauth-authorization-server/github/login/oauth", "github/.well-known/oauth-authorization-server/login/oauth"),
        ("oauth-authorization-server/gitlab", "gitlab/.well-known/oauth-authorization-server"),
        ("openid-configuration/google", "google/.well-known/openid-configuration"),
    ],
)
def test_metadata_is_also_where_rfc_8414_puts_it_for_an_issuer_with_a_path(fake: App, inserted: str, own: str) -> None:
    before, below = (fake.answer(Call("GET", path)) for path in (f"/.well-known/{inserted}", f"/{own}"))

    assert (before.status, before.body) == (200, below.body)
    assert fake.answer(Call("GET", "/.well-known/openid-configuration/nobody")).status == 404


def test_a_user_has_a_number_a_login_and_perhaps_a_name(github: Visitor) -> None:
    named = content(github.profile(github.access_token()))
    nameless = content(github.profile(github.access_token("noname"), "/api/v3/user"))

    assert isinstance(named["id"], int)
    assert (named["login"], named["name"], named["email"]) == ("rquill", "Rhea Quill", None)
    assert (nameless["login"], nameless["name"]) == ("noname99", None)


def test_the_addresses_are_a_list_of_their_own(github: Visitor) -> None:
    token = github.access_token("unverified")
    number = content(github.profile(token))["id"]

    assert content(github.profile(token, "/user/emails")) == [
        {"email": "uli@example.org", "primary": True, "verified": False, "visibility": "private"},
        {
            "email": f"{number}+unverified@users.noreply.github.com",
            "primary": False,
            "verified": True,
            "visibility": None,
        },
    ]


def test_the_addresses_get_404_without_their_scope(github: Visitor) -> None:
    token = github.access_token(scope="read:user")

    answer = github.profile(token, "/user/emails")

    assert (answer.status, content(answer)["message"]) == (404, "Not Found")
    assert dict(answer.headers)["x-accepted-oauth-scopes"] == "user, user:email"
    assert github.profile(token).status == 200


@pytest.mark.parametrize("scheme", ["Bearer", "token"])
def test_the_token_comes_under_either_name(github: Visitor, scheme: str) -> None:
    token = github.access_token()

    answer = github.get("/user", authorization=f"{scheme} {token}")

    assert answer.status == 200
    assert dict(answer.headers)["x-oauth-scopes"] == "read:user, user:email"
    assert dict(answer.headers)["x-ratelimit-limit"] == "5000"


@pytest.mark.parametrize("path", ["/user", "/user/emails"])
def test_a_request_without_a_user_agent_is_forbidden(github: Visitor, path: str) -> None:
    token = github.access_token()

    answer = github.get(path, authorization=f"Bearer {token}", user_agent="")

    assert answer.status == 403
    assert b"User-Agent" in answer.body


def test_a_token_is_checked_and_deleted_by_its_application(github: Visitor) -> None:
    token = github.access_token()
    body, basic = f'{{"access_token":"{token}"}}'.encode(), "Basic b3VyczpvdXJzLXNlY3JldA=="

    def send(method: str, authorization: str) -> Answer:
        headers = {"content_type": "application/json", "authorization": authorization}
        return github.send(method, "/applications/ours/token", body=body, headers=headers)

    assert content(send("POST", basic))["user"]["login"] == "rquill"
    assert send("POST", "Basic b3Vyczp3cm9uZw==").status == 404
    assert send("DELETE", "Basic dGhlaXJzOnRoZWlycy1zZWNyZXQ=").status == 404
    assert send("DELETE", basic).status == 204
    assert github.profile(token).status == 401
    assert send("DELETE", basic).status == 404


def test_a_verifier_is_demanded_for_a_challenge_in_lower_case_too(github: Visitor) -> None:
    code = github.callback(code_challenge=s256("v" * 43), code_challenge_method="s256")["code"]

    assert content(github.redeem(code, code_verifier="w" * 43))["error"] == "bad_verification_code"


def loopback(github: Visitor, uri: str) -> None:
    """Register the application with a redirect URI on this machine."""
    github.fake.world.clients.add(
        Client(provider="github", client_id="ours", client_secret="ours-secret", redirect_uris=(uri,))
    )


@pytest.mark.parametrize(
    ("registered", "asked", "allowed"),
    [
        ("http://127.0.0.1/callback", "http://127.0.0.1:4711/callback", True),
        ("http://localhost:1/callback", "http://localhost:4711/callback/x", True),
        ("http://[::1]/callback", "http://[::1]:4711/callback", True),
        ("http://127.0.0.1/callback", "http://127.0.0.2:4711/callback", False),
        ("http://127.0.0.1/callback", "http://x@127.0.0.1:4711/callback", False),
        ("http://127.0.0.1/callback", "https://127.0.0.1:4711/callback", False),
        ("http://127.0.0.1/callback", "http://127.0.0.1:4711/other", False),
        ("http://127.0.0.1/callback", "http://[/callback", False),
        ("https://chat.example/callback", "https://chat.example:4711/callback", False),
    ],
)
def test_a_redirect_uri_of_this_machine_allows_any_port(
    github: Visitor, registered: str, asked: str, *, allowed: bool
) -> None:
    loopback(github, registered)

    location = dict(github.decide(redirect_uri=asked).headers)["location"]

    assert location.startswith(f"{asked}?code=" if allowed else f"{registered}?error=redirect_uri_mismatch")


def test_the_port_can_be_made_significant_by_a_switch(github: Visitor) -> None:
    loopback(github, "http://127.0.0.1:1/callback")
    github.switch("loopback-ports", on=False)

    location = dict(github.decide(redirect_uri="http://127.0.0.1:2/callback").headers)["location"]

    assert "error=redirect_uri_mismatch" in location


def test_a_suspended_application_is_told_so(github: Visitor) -> None:
    github.switch("suspended", on=True)

    params = parameters(github.ask())

    assert (params["error"], params["state"]) == ("application_suspended", "st-1")
    assert params["error_uri"].endswith("#application-suspended")


def test_the_person_may_edit_the_scopes_down(github: Visitor) -> None:
    params = parameters(github.decide(also="offered=read%3Auser&offered=user%3Aemail&share=read%3Auser"))

    token = content(github.redeem(params["code"]))

    assert token["scope"] == "read:user"
    assert github.profile(token["access_token"], "/user/emails").status == 404


def test_without_a_scope_the_token_opens_what_is_public(github: Visitor) -> None:
    token = github.login(scope=None)

    assert token["scope"] == ""
    assert content(github.profile(token["access_token"]))["login"] == "rquill"


def test_the_token_endpoint_answers_get_only_if_switched(github: Visitor) -> None:
    query = {"client_id": "ours", "client_secret": "ours-secret", "code": github.callback()["code"]}

    refused = github.get("/login/oauth/access_token", query, accept="application/json")
    github.switch("token-by-get", on=True)
    answered = github.get("/login/oauth/access_token", query, accept="application/json")

    assert (refused.status, dict(refused.headers)["allow"]) == (405, "POST")
    assert "access_token" in content(answered)


@pytest.mark.parametrize(("person", "refused"), [("unverified", True), ("noemail", True), ("rhea", False)])
def test_an_unverified_address_may_be_refused(github: Visitor, person: str, *, refused: bool) -> None:
    github.switch("verified-email", on=True)

    answer = github.redeem(github.callback(person)["code"])

    assert answer.status == 200
    assert (content(answer).get("error") == "unverified_user_email") is refused


def test_the_device_flow_is_not_switched_on(github: Visitor) -> None:
    metadata = content(github.get("/.well-known/oauth-authorization-server/login/oauth"))
    path = metadata["device_authorization_endpoint"].removeprefix("https://id.localhost/github")

    answer = github.post(path, {"client_id": "ours"}, accept="application/json")

    assert (answer.status, content(answer)) == (
        400,
        {
            "error": "device_flow_disabled",
            "error_description": "Device Flow must be explicitly enabled for this App",
            "error_uri": "https://docs.github.com",
        },
    )


@pytest.mark.parametrize("path", ["/user", "/user/emails", "/api/v3/user", "/api/v3/user/emails"])
@pytest.mark.parametrize("good", [True, False])
def test_every_answer_of_the_api_has_its_headers(github: Visitor, path: str, *, good: bool) -> None:
    token = github.access_token() if good else "gho_nonsense"

    answer = github.profile(token, path)

    headers = dict(answer.headers)
    assert answer.status == (200 if good else 401)
    assert headers["x-github-media-type"] == "github.v3; format=json"
    assert headers["x-ratelimit-limit"] == ("5000" if good else "60")
    assert headers["x-oauth-client-id"] == ("ours" if good else "")
    assert {"x-oauth-scopes", "x-accepted-oauth-scopes", "x-github-request-id", "x-ratelimit-remaining"} <= set(headers)
    assert {"x-ratelimit-reset", "x-ratelimit-used", "x-ratelimit-resource"} <= set(headers)


@pytest.mark.parametrize("path", ["/rate_limit", "/api/v3/rate_limit"])
@pytest.mark.parametrize(("good", "core", "search"), [(True, 5000, 30), (False, 60, 10)])
def test_rate_limit_returns_the_same_figures_as_the_headers(
    github: Visitor, path: str, *, good: bool, core: int, search: int
) -> None:
    known = {"authorization": f"Bearer {github.login()['access_token']}"} if good else {}

    answer = github.get(path, None, **known)

    headers, told = dict(answer.headers), content(answer)
    assert told["resources"]["core"] == {"limit": core, "used": 1, "remaining": core - 1, "reset": NOW + 3600}
    assert told["resources"]["search"] == {"limit": search, "used": 0, "remaining": search, "reset": NOW + 60}
    assert told["rate"] == told["resources"]["core"]
    assert {name: headers[f"x-ratelimit-{name}"] for name in told["rate"]} == {
        name: str(value) for name, value in told["rate"].items()
    }


def test_rate_limit_refuses_a_bad_token(github: Visitor) -> None:
    answer = github.get("/rate_limit", authorization="Bearer gho_nonsense")

    assert (answer.status, content(answer)["message"]) == (401, "Bad credentials")


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("/github/api/v3/repos/a/b", "id.localhost"),
        ("/github/api/v3", "id.localhost"),
        ("/repos/a/b", "api.github.com"),
        ("/repos/a/b", "API.github.com:8443"),
    ],
)
def test_unknown_paths_of_the_api_get_404_as_json(github: Visitor, path: str, host: str) -> None:
    answer = github.fake.answer(Call("GET", path, headers={"host": host, "user-agent": "tests"}))

    docs = "https://docs.github.com/rest"
    assert (answer.status, content(answer)) == (
        404,
        {"message": "Not Found", "documentation_url": docs, "status": "404"},
    )
    assert dict(answer.headers)["x-ratelimit-limit"] == "60"


@pytest.mark.parametrize(
    ("path", "host"), [("/github/a", "id.localhost"), ("/github/api/v30", "id.localhost"), ("/a", "github.com")]
)
def test_unknown_pages_get_an_html_404(github: Visitor, path: str, host: str) -> None:
    answer = github.fake.answer(Call("GET", path, headers={"host": host, "user-agent": "tests"}))

    assert (answer.status, answer.body[:16]) == (404, b"Nothing exists a")


def applications(github: Visitor, method: str, path: str, body: bytes) -> Answer:
    """Send a request about a token, authenticated as the application."""
    headers = {"content_type": "application/json", "authorization": "Basic b3VyczpvdXJzLXNlY3JldA=="}
    return github.send(method, path, body=body, headers=headers)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/applications/ours/token", b'{"access_token":"gho_nonsense"}', 404),
        ("/applications/ours/token", b"{}", 422),
        ("/applications/theirs/token", None, 404),
    ],
)
def test_a_token_that_is_not_there_or_of_another_application_is_not_found(
    github: Visitor, path: str, body: bytes | None, status: int
) -> None:
    own = f'{{"access_token":"{github.access_token()}"}}'.encode()

    assert applications(github, "POST", path, body or own).status == status


def test_deleting_the_grant_ends_every_token_and_deleting_a_token_only_that(github: Visitor) -> None:
    tokens = [github.access_token() for _ in range(3)]

    def delete(what: str, token: str) -> int:
        return applications(
            github, "DELETE", f"/applications/ours/{what}", f'{{"access_token":"{token}"}}'.encode()
        ).status

    assert delete("token", tokens[0]) == 204
    assert [github.profile(token).status for token in tokens] == [401, 200, 200]
    assert delete("grant", tokens[1]) == 204
    assert [github.profile(token).status for token in tokens] == [401, 401, 401]


def test_a_checked_token_is_described_in_full(github: Visitor) -> None:
    token = github.access_token()

    told = content(applications(github, "POST", "/applications/ours/token", f'{{"access_token":"{token}"}}'.encode()))

    assert (told["token"], told["token_last_eight"], len(told["hashed_token"])) == (token, token[-8:], 64)
    assert told["scopes"] == ["read:user", "user:email"]
    assert told["app"]["client_id"] == "ours"
    assert told["created_at"] == told["updated_at"]
    assert {"id", "url", "note", "note_url", "fingerprint", "expires_at", "user"} <= set(told)


def test_a_token_is_reset_by_its_application_alone(github: Visitor) -> None:
    token = github.access_token()
    body = f'{{"access_token":"{token}"}}'.encode()

    foreign = applications(github, "PATCH", "/applications/theirs/token", body)
    fresh = content(applications(github, "PATCH", "/applications/ours/token", body))["token"]

    assert foreign.status == 404
    assert (github.profile(token).status, github.profile(fresh).status) == (401, 200)
    assert applications(github, "PATCH", "/applications/ours/token", body).status == 404


def test_a_known_etag_gets_304(github: Visitor) -> None:
    token = github.access_token()
    authorization = f"Bearer {token}"

    tag = dict(github.profile(token).headers)["etag"]
    github.fake.clock.advance(60)
    known = github.get("/user", authorization=authorization, if_none_match=tag)
    stale = github.get("/user", authorization=authorization, if_none_match='W/"other"')

    assert (known.status, known.body, dict(known.headers)["etag"]) == (304, b"", tag)
    assert (stale.status, dict(stale.headers)["etag"]) == (200, tag)
    assert "x-ratelimit-limit" in dict(known.headers)


def test_a_github_apps_tokens_expire_and_are_refreshed_if_switched(github: Visitor) -> None:
    github.switch("expiring-tokens", on=True)
    first = github.login()
    github.clock.advance(28800)

    second = content(github.refresh(first["refresh_token"]))

    assert first["access_token"].startswith("ghu_")
    assert first["refresh_token"].startswith("ghr_")
    assert (first["expires_in"], first["refresh_token_expires_in"]) == (28800, 15897600)
    assert [github.profile(token["access_token"]).status for token in (first, second)] == [401, 200]
    again = content(github.refresh(first["refresh_token"]))
    assert again["error"] == "bad_refresh_token"


QUERY = json.dumps({"query": "query { viewer { login databaseId name, email id } }"}).encode()


@pytest.mark.parametrize("path", ["/graphql", "/api/graphql"])
def test_graphql_knows_the_viewer(github: Visitor, path: str) -> None:
    bearer = f"bearer {github.access_token()}"

    answer = github.post(path, QUERY, content_type="application/json", authorization=bearer)

    viewer = content(answer)["data"]["viewer"]
    assert (viewer["login"], viewer["name"], viewer["email"]) == ("rquill", "Rhea Quill", "")
    assert viewer["databaseId"] == content(github.get("/user", authorization=bearer))["id"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{ viewer { login salary } }", "Field 'salary' doesn't exist on type 'User'"),
        ('{ repository(owner: "a") { id } }', "The fake only knows queries of the form { viewer { login name } }."),
    ],
)
def test_graphql_reports_what_it_does_not_know(github: Visitor, query: str, message: str) -> None:
    body = json.dumps({"query": query}).encode()

    answer = github.post(
        "/graphql", body, content_type="application/json", authorization=f"bearer {github.access_token()}"
    )

    assert answer.status == 200
    assert [error["message"] for error in content(answer)["errors"]] == [message]


def test_graphql_needs_a_token(github: Visitor) -> None:
    assert github.post("/graphql", QUERY, content_type="application/json").status == 401
