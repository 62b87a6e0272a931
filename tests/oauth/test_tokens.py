"""Tests of the life of a token: its issue, its renewal, its revocation, and the refusal of a bad one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import NOW, Visitor, content

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

JWT = re.compile(r"[\w-]+(\.[\w-]+){2}")
HEX = re.compile(r"[0-9a-f]{64}")
WORD = re.compile(r"\w{30}")
OPENID = "openid email profile"
OFFLINE = {"access_type": "offline"}
OIDC_OFFLINE = {"scope": "openid offline_access"}
X_OFFLINE = {"scope": "tweet.read users.read offline.access"}
GOOGLE_SCOPE = "openid https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/userinfo.profile"


def apple(kind: str) -> re.Pattern[str]:
    return re.compile(rf"{kind}\w{{32}}\.0\.\w{{4}}\.[\w-]{{22}}")


ISSUED: dict[str, dict[str, Any]] = {
    "google": {
        "access_token": re.compile(r"ya29\..+"),
        "token_type": "Bearer",
        "expires_in": 3599,
        "scope": GOOGLE_SCOPE,
        "id_token": JWT,
    },
    "facebook": {"access_token": re.compile("EAA.+"), "token_type": "bearer", "expires_in": 5183999},
    "github": {"access_token": re.compile("gho_.+"), "token_type": "bearer", "scope": "read:user,user:email"},
    "gitlab": {
        "access_token": HEX,
        "token_type": "Bearer",
        "expires_in": 7200,
        "refresh_token": HEX,
        "scope": f"{OPENID} read_user",
        "id_token": JWT,
        "created_at": NOW,
    },
    "discord": {
        "access_token": WORD,
        "token_type": "Bearer",
        "expires_in": 604800,
        "refresh_token": WORD,
        "scope": "identify email openid",
        "id_token": JWT,
    },
    "apple": {
        "access_token": apple("a"),
        "token_type": "Bearer",
        "expires_in": 3600,
        "refresh_token": apple("r"),
        "id_token": JWT,
    },
    "x": {
        "token_type": "bearer",
        "expires_in": 7200,
        "access_token": re.compile("[A-Za-z0-9]{88}"),
        "scope": "tweet.read users.read",
    },
    "tiktok": {
        "access_token": re.compile(r"act\..+"),
        "expires_in": 7200,
        "open_id": re.compile("[0-9a-f-]{36}"),
        "refresh_expires_in": 15552000,
        "refresh_token": re.compile(r"rft\..+"),
        "scope": "user.info.basic",
        "token_type": "Bearer",
    },
    "amazon": {
        "access_token": re.compile(r"Atza\|.{340,}"),
        "token_type": "bearer",
        "expires_in": 3600,
        "refresh_token": re.compile(r"Atzr\|.{340,}"),
    },
    "microsoft": {
        "access_token": re.compile("EwB.+"),
        "token_type": "Bearer",
        "expires_in": 3599,
        "scope": OPENID,
        "id_token": JWT,
        "ext_expires_in": 3599,
    },
    "linkedin": {
        "access_token": re.compile("AQ.+"),
        "token_type": "Bearer",
        "expires_in": 5184000,
        "scope": "openid,profile,email",
        "id_token": JWT,
    },
    "oidc": {
        "access_token": re.compile(r"\w{40}"),
        "token_type": "Bearer",
        "expires_in": 3600,
        "scope": OPENID,
        "id_token": JWT,
    },
}


@pytest.mark.parametrize("name", ISSUED)
def test_a_token_answer_has_the_providers_members_in_order(visitor: Visitor) -> None:
    token, expected = visitor.login(), ISSUED[visitor.name]

    assert list(token) == list(expected)
    for member, value in expected.items():
        assert value.fullmatch(token[member]) if isinstance(value, re.Pattern) else token[member] == value, member


@pytest.mark.parametrize(
    ("name", "asked", "rotates", "again", "old"),
    [
        ("google", OFFLINE, False, (200, None), 200),
        ("gitlab", {}, True, (400, "invalid_grant"), 401),
        ("discord", {}, True, (400, "invalid_grant"), 401),
        ("apple", {}, False, (200, None), None),
        ("x", X_OFFLINE, True, (400, "invalid_request"), 401),
        ("tiktok", {}, True, (200, "invalid_grant"), 401),
        ("amazon", {}, True, (200, None), 200),
        ("microsoft", OIDC_OFFLINE, True, (200, None), 200),
        ("oidc", OIDC_OFFLINE, True, (400, "invalid_grant"), 401),
    ],
)
def test_a_refresh_rotates_the_pair_or_leaves_it(
    *, visitor: Visitor, asked: dict[str, str], rotates: bool, again: tuple[int, str | None], old: int | None
) -> None:
    first = visitor.login(**asked)

    second, repeated = content(visitor.refresh(first["refresh_token"])), visitor.refresh(first["refresh_token"])

    assert second["access_token"] != first["access_token"]
    assert (second.get("refresh_token", first["refresh_token"]) != first["refresh_token"]) is rotates
    assert ("refresh_token" in second) is rotates
    assert (repeated.status, content(repeated).get("error")) == again
    if old:
        assert [visitor.profile(token["access_token"]).status for token in (first, second)] == [old, 200]


@pytest.mark.parametrize(
    ("name", "scope"),
    [("gitlab", "read_user"), ("discord", "identify email"), ("facebook", "email"), ("google", "profile")],
)
def test_an_id_token_comes_only_with_openid(visitor: Visitor, scope: str) -> None:
    assert "id_token" not in visitor.login(scope=scope)
    assert "id_token" in visitor.login(scope=f"{scope} openid")


REVOKED = {
    "gitlab": ("/oauth/revoke", b"{}", (403, "unauthorized_client"), (401, "invalid_client"), 400),
    "discord": ("/api/oauth2/token/revoke", b"{}", (200, None), (401, "invalid_client"), 400),
    "x": ("/2/oauth2/revoke", b'{"revoked":true}', (200, None), (401, "unauthorized_client"), 400),
    "tiktok": ("/v2/oauth/revoke/", b"{}", (200, None), (200, "invalid_client"), 200),
    "oidc": ("/revoke", b"", (200, None), (401, "invalid_client"), 400),
}
"""The path, the body of a success, the refusal of another application, the refusal of a wrong secret, and the status
of a request without a token.
"""


@pytest.mark.parametrize("name", REVOKED)
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_token_is_revoked_by_its_application_alone(visitor: Visitor, kind: str) -> None:
    path, done, foreign, unproven, empty = REVOKED[visitor.name]
    token = visitor.login(**({"x": X_OFFLINE, "oidc": OIDC_OFFLINE}.get(visitor.name, {})))

    def revoke(text: str, who: str = "ours", secret: str = "") -> Answer:
        asked = {"client_id": who, "client_secret": secret or f"{who}-secret", "token": text}
        form = visitor.prove(visitor.site.named(asked))
        headers = {"authorization": form.pop("authorization")} if "authorization" in form else {}
        return visitor.post(path, form, **headers)

    def refusal(answer: Answer) -> tuple[int, Any]:
        return answer.status, content(answer).get("error") if answer.body else None

    assert refusal(revoke(token[kind], secret="wrong")) == unproven
    assert refusal(revoke(token[kind], "theirs")) == foreign
    assert refusal(revoke("")) == (empty, "invalid_request")
    assert visitor.profile(token["access_token"]).status == 200
    for text in (token[kind], "unknown"):
        answer = revoke(text)
        assert (answer.status, answer.body) == (200, done)
    assert visitor.profile(token["access_token"]).status == 401
    assert "access_token" not in content(visitor.refresh(token["refresh_token"]))


UNAUTHORIZED = {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}
DISCORD = {"message": "401: Unauthorized", "code": 0}
GITHUB = {"documentation_url": "https://docs.github.com/rest", "status": "401"}
TIKTOK = {
    "code": "access_token_invalid",
    "message": "The access token is invalid or not found in the request.",
}
AMAZON = {"error_description": "The request has an invalid parameter : access_token", "error": "invalid_token"}
GOOGLE = {"error": "invalid_request", "error_description": "Invalid Credentials"}
NO_TOKEN = "An active access token must be used to query information about the current user."
UNPARSED = "Invalid OAuth access token - Cannot parse access token"
EXPIRED = "Token is expired. You can either do re-authorization or token refresh."
BAD: dict[str, tuple[Any, ...]] = {
    "google": (401, GOOGLE, GOOGLE, GOOGLE),
    "facebook": (
        400,
        {"type": "OAuthException", "code": 2500, "message": NO_TOKEN},
        {"type": "OAuthException", "code": 190, "message": UNPARSED},
        {"type": "OAuthException", "code": 190, "error_subcode": 463},
    ),
    "github": (401, GITHUB | {"message": "Requires authentication"}, GITHUB | {"message": "Bad credentials"}, {}),
    "gitlab": (
        401,
        *({"message": "401 Unauthorized"}, {"message": "401 Unauthorized"}),
        {"error": "invalid_token", "error_description": EXPIRED},
    ),
    "discord": (401, DISCORD, DISCORD, DISCORD),
    "x": (401, UNAUTHORIZED, UNAUTHORIZED, UNAUTHORIZED),
    "tiktok": (401, TIKTOK, TIKTOK, TIKTOK),
    "amazon": (400, AMAZON, AMAZON, AMAZON),
    "microsoft": (
        401,
        {"code": "InvalidAuthenticationToken", "message": "Access token is empty."},
        {"code": "InvalidAuthenticationToken"},
        {"message": "Lifetime validation failed, the token is expired."},
    ),
    "linkedin": (
        401,
        {"serviceErrorCode": 401},
        {"serviceErrorCode": 65600, "code": "INVALID_ACCESS_TOKEN"},
        {"serviceErrorCode": 65600, "code": "EXPIRED_ACCESS_TOKEN"},
    ),
    "oidc": (401, *[{"error": "invalid_token"}] * 3),
}
"""The status, and the error for a missing, an unknown and an expired access token."""


@pytest.mark.parametrize("name", BAD)
def test_a_bad_access_token_is_refused_in_the_providers_words(visitor: Visitor) -> None:
    status, *errors = BAD[visitor.name]
    token = visitor.login()
    life = token.get("expires_in", 1)
    visitor.clock.advance(life - 1)
    assert visitor.profile(token["access_token"]).status == 200

    visitor.clock.advance(1)

    fields = {"fields": visitor.site.fields} if visitor.site.fields else {}
    late = visitor.profile(token["access_token"])
    for answer, error in zip(
        (visitor.get(visitor.site.profile, fields), visitor.profile("nonsense"), late), errors, strict=True
    ):
        if error:
            body = content(answer)
            said = body["error"] if isinstance(body.get("error"), dict) else body
            assert (answer.status, {member: said[member] for member in error}) == (status, error)


FORBIDDEN = {"title": "Forbidden", "type": "about:blank", "status": 403, "detail": "Forbidden"}


@pytest.mark.parametrize(
    ("name", "scope", "path", "status", "error"),
    [
        ("gitlab", "openid", "/api/v4/user", 403, {"error": "insufficient_scope"}),
        ("gitlab", "read_user", "/oauth/userinfo", 403, {"error": "insufficient_scope"}),
        *(("x", scope, "", 403, FORBIDDEN) for scope in ("users.read", "tweet.read", "users.email offline.access")),
        ("amazon", "", "", 403, {"error": "insufficient_scope"}),
        ("linkedin", "profile", "", 403, {"code": "ACCESS_DENIED"}),
    ],
)
def test_a_token_opens_only_what_its_scope_allows(
    *, visitor: Visitor, scope: str, path: str, status: int, error: dict[str, Any]
) -> None:
    answer = visitor.profile(visitor.access_token(scope=scope), path)

    assert answer.status == status
    assert error.items() <= content(answer).items()


@pytest.mark.parametrize("name", ["facebook", "tiktok", "microsoft", "linkedin"])
def test_each_application_has_another_subject_of_a_person(visitor: Visitor) -> None:
    code = visitor.callback(client_id="theirs")["code"]
    theirs = content(visitor.redeem(code, client_id="theirs", client_secret="theirs-secret"))

    assert visitor.subject(visitor.access_token()) != visitor.subject(theirs["access_token"])
