"""Tests of faulty authorization requests. A provider shows an error page or sends the error back to the application."""

from __future__ import annotations

import pytest
from tests.oauth.visitor import CALLBACK, Visitor, parameters

EVIL = "https://evil.example/"
HYBRID: dict[str, str | None] = {"response_type": "code id_token"}
X_REQUIRED = ("response_type", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method")
X_PAGE = ("Something went wrong", "You weren&#x27;t able to give access to the App.")
TIKTOK_PAGE = "<h1>Something went wrong</h1>"
Row = tuple[dict[str, str | None], int, tuple[str, ...]]


def error_400(changes: dict[str, str | None], error: str, *words: str) -> Row:
    return changes, 400, (f"Error 400: {error}", *words)


PAGES: dict[str, list[Row]] = {
    "google": [
        error_400({"response_type": None}, "invalid_request"),
        error_400({"response_type": "token"}, "unsupported_response_type"),
        error_400({"scope": None}, "invalid_request"),
        error_400({"scope": ""}, "invalid_request"),
        error_400({"scope": "openid nonsense"}, "invalid_scope"),
        error_400({"code_challenge": "x", "code_challenge_method": "S512"}, "invalid_request"),
        error_400({"redirect_uri": None}, "invalid_request"),
        error_400({"redirect_uri": EVIL}, "redirect_uri_mismatch"),
    ],
    "facebook": [
        ({"client_id": "nobody"}, 400, ("Invalid App ID",)),
        ({"redirect_uri": EVIL}, 400, ("URL blocked",)),
    ],
    "github": [({"client_id": "nobody"}, 404, ())],
    "gitlab": [({"client_id": "nobody"}, 401, ()), ({"redirect_uri": EVIL}, 400, ())],
    "apple": [
        error_400({"client_id": "nobody"}, "invalid_client", "&#x27;nobody&#x27;"),
        error_400({"client_id": None}, "invalid_client", "client_id"),
        error_400({"redirect_uri": f"{CALLBACK}/x"}, "invalid_request", "Invalid web redirect url."),
        error_400({"redirect_uri": None}, "invalid_request", "redirect_uri"),
        error_400({"response_type": None}, "invalid_request", "response_type"),
        error_400({"response_type": "id_token"}, "unsupported_response_type", "response type"),
        error_400({"response_mode": "pigeon"}, "unsupported_response_mode", "response mode"),
        error_400({"scope": "openid everything"}, "invalid_scope", "scope"),
        error_400(HYBRID | {"response_mode": "query"}, "invalid_request", "Invalid response mode."),
        error_400(HYBRID | {"response_mode": None}, "invalid_request", "Invalid response mode."),
    ],
    "x": [
        *(({name: value}, 400, (*X_PAGE, name)) for name in X_REQUIRED for value in (None, "")),
        ({"client_id": None}, 400, X_PAGE),
        ({"client_id": "nobody"}, 400, X_PAGE),
        ({"redirect_uri": f"{CALLBACK}/"}, 400, X_PAGE),
        ({"response_type": "token"}, 400, X_PAGE),
        ({"code_challenge_method": "S512"}, 400, X_PAGE),
        ({"state": "s" * 501}, 400, (*X_PAGE, "longer than 500 characters")),
    ],
    "tiktok": [
        ({"client_id": "nobody"}, 400, (TIKTOK_PAGE, "client_key")),
        ({"redirect_uri": EVIL}, 400, (TIKTOK_PAGE, "redirect_uri")),
        ({"redirect_uri": None}, 400, (TIKTOK_PAGE, "redirect_uri")),
        ({"response_type": None}, 400, (TIKTOK_PAGE, "response_type")),
        ({"code_challenge": "x" * 64, "code_challenge_method": "plain"}, 400, (TIKTOK_PAGE, "code_challenge_method")),
    ],
    "amazon": [
        ({"client_id": "nobody"}, 400, ("<h1>We&#x27;re sorry!</h1>",)),
        ({"redirect_uri": EVIL}, 400, ("<h1>We&#x27;re sorry!</h1>",)),
    ],
}


@pytest.mark.parametrize(("name", "row"), [(name, row) for name, rows in PAGES.items() for row in rows])
def test_an_error_stays_on_the_providers_page(visitor: Visitor, row: Row) -> None:
    changes, status, words = row

    for answer in (visitor.ask(**changes), visitor.decide("rhea", decision="approve", also="", **changes)):
        assert (answer.status, "location" in dict(answer.headers)) == (status, False)
        assert [text for text in words if text not in answer.body.decode()] == []


PLAIN = {"code_challenge": "x", "code_challenge_method": "plain"}
FACEBOOK = {"error_code": "100", "error_message": ""}
LINKEDIN_SCOPE = {
    "error": "unauthorized_scope_error",
    "error_description": "Scope &quot;r_email&quot; is not authorized",
}
GITLAB_SCOPE = "The requested scope is invalid, unknown, or malformed."


@pytest.mark.parametrize(
    ("name", "changes", "error"),
    [
        ("facebook", {"response_type": "token"}, FACEBOOK),
        ("facebook", PLAIN, FACEBOOK),
        ("github", PLAIN, {"error": "invalid_request", "error_description": "S256", "error_uri": "", "iss": ""}),
        ("gitlab", {"scope": "openid x"}, {"error": "invalid_scope", "error_description": GITLAB_SCOPE}),
        ("discord", PLAIN, {"error": "invalid_request", "error_description": "S256", "iss": ""}),
        ("tiktok", {"scope": "user.info.basic,video.list"}, {"error": "invalid_scope", "error_description": ""}),
        ("tiktok", {"response_type": "token"}, {"error": "unsupported_response_type", "error_description": ""}),
        ("linkedin", {"scope": "openid r_email"}, LINKEDIN_SCOPE),
    ],
)
def test_an_error_is_sent_back_with_the_state(visitor: Visitor, changes: dict[str, str], error: dict[str, str]) -> None:
    params = parameters(visitor.ask(**changes))

    assert params.pop("state") == "st-1"
    assert params.keys() == error.keys()
    assert [member for member, words in error.items() if words not in params[member]] == []
