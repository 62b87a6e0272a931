"""Tests of the words in which each provider refuses a token request."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import VERIFIER, Visitor, apple_secret, content

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.pkce import s256
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

    Row = tuple[dict[str, str | None], int, str, str]

OTHER = "https://chat.example/other"
THEIRS = {"client_id": "theirs", "client_secret": "theirs-secret"}
DEAD: dict[str, str | None] = {"grant_type": "refresh_token", "refresh_token": "dead"}
MACHINE: dict[str, str | None] = {"grant_type": "client_credentials", "redirect_uri": None}
"""A request for a token of the application itself."""
CHALLENGE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "S256"}
SPA: dict[str, str | None] = {"client_id": "spa", "client_secret": ""}
"""A public application."""


def basic(credentials: str) -> str:
    return f"Basic {b64encode(credentials.encode()).decode()}"


JSON: dict[str, str | None] = {"content_type": "application/json"}
BY_BASIC: dict[str, str | None] = {"client_id": None, "client_secret": None, "basic": basic("ours:ours-secret")}
GITLAB_CLIENT = (
    "Client authentication failed due to unknown client, no client authentication included, or unsupported "
    "authentication method."
)
GITLAB_GRANT = (
    "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the "
    "authorization request, or was issued to another client."
)
UNKNOWN_SCOPE = "The requested scope is invalid, unknown, or malformed."
UNKNOWN_TYPE = "The authorization grant type is not supported by the authorization server"
X_CODE = "Value passed for the authorization code was invalid."
X_REDIRECT = "Value passed for the redirect uri did not match the uri of the authorization code."
X_VERIFIER = "Value passed for the code verifier did not match the code challenge."
X_TYPE = "Value passed for the grant type was invalid. Grant type should be one of [authorization_code, refresh_token]."
GITHUB = "The code passed is incorrect or expired."
AMAZON = "The request has an invalid grant parameter : code"
GITHUB_CLIENT = "The client_id and/or client_secret passed are incorrect."
MICROSOFT_CLIENT = "700016: Application with identifier 'nobody' was not found in the directory 'common'."
MICROSOFT_MISSING = "900144: The request body must contain the following parameter:"
MICROSOFT_SECRET = (
    "7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, "
    "not the client secret ID, for a secret added to app 'ours'."
)
FACEBOOK_REDIRECT = (
    "Error validating verification code. Please make sure your redirect_uri is identical to the one you used in the "
    "OAuth dialog request"
)
FACEBOOK_SECRET = "Error validating client secret."
TIKTOK_BAD = "The request parameters are malformed."
TIKTOK_CLIENT = "Client key or secret is incorrect."

LINKEDIN = (
    "Unable to retrieve access token: appid/redirect uri/code verifier does not match authorization code. Or "
    "authorization code expired. Or external member binding exists"
)

OIDC = "The code is invalid, expired, used, or was issued to another client."

ROWS: dict[str, list[Row]] = {
    "google": [
        ({"code": "4/0Aunknown"}, 400, "invalid_grant", "Bad Request"),
        ({"code": "4%2F0Aunknown"}, 400, "invalid_grant", "Malformed auth code."),
        ({"redirect_uri": OTHER}, 400, "redirect_uri_mismatch", "Bad Request"),
        ({"code_verifier": None}, 400, "invalid_grant", "Missing code verifier."),
        ({"code_verifier": "wrong"}, 400, "invalid_grant", "Invalid code verifier."),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", "Invalid grant_type: password"),
        ({"grant_type": None}, 400, "unsupported_grant_type", "Invalid grant_type: "),
        ({"client_id": None}, 400, "invalid_request", "Could not determine client ID from request."),
        ({"client_id": "nobody"}, 401, "invalid_client", "The OAuth client was not found."),
        ({"client_secret": None}, 400, "invalid_request", "client_secret is missing."),
        ({"client_secret": ""}, 400, "invalid_request", "client_secret is missing."),
        ({"client_secret": "wrong"}, 401, "invalid_client", "The provided client secret is invalid."),
        (DEAD, 400, "invalid_grant", "Token has been expired or revoked."),
    ],
    "facebook": [
        ({"client_id": None}, 400, "101", "Missing client_id parameter."),
        ({"client_id": "nobody"}, 400, "101", "Error validating application. Cannot get application info."),
        ({"client_secret": None}, 400, "1", FACEBOOK_SECRET),
        ({"client_secret": "wrong"}, 400, "1", FACEBOOK_SECRET),
        ({"redirect_uri": OTHER}, 400, "100", FACEBOOK_REDIRECT),
        ({"grant_type": "password"}, 400, "100", "Unsupported grant_type."),
    ],
    "github": [
        ({"code": "0" * 20}, 200, "bad_verification_code", GITHUB),
        ({"client_secret": "wrong"}, 200, "incorrect_client_credentials", GITHUB_CLIENT),
        ({"client_id": "nobody"}, 200, "incorrect_client_credentials", GITHUB_CLIENT),
        (
            {"redirect_uri": OTHER},
            *(200, "redirect_uri_mismatch"),
            "The redirect_uri MUST match the registered callback URL for this application.",
        ),
        (DEAD, 200, "unsupported_grant_type", "The grant_type passed is not supported."),
    ],
    "gitlab": [
        ({"code": "0" * 64}, 400, "invalid_grant", GITLAB_GRANT),
        ({"code": None}, 400, "invalid_request", "Missing required parameter: code."),
        ({"redirect_uri": None}, 400, "invalid_request", "Missing required parameter: redirect_uri."),
        ({"redirect_uri": OTHER}, 400, "invalid_grant", GITLAB_GRANT),
        ({"grant_type": None}, 400, "invalid_request", "Missing required parameter: grant_type."),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", f"{UNKNOWN_TYPE}."),
        ({"code_verifier": None}, 400, "invalid_request", "Missing required parameter: code_verifier."),
        ({"code_verifier": "wrong"}, 400, "invalid_grant", GITLAB_GRANT),
        ({"client_secret": "wrong"}, 401, "invalid_client", GITLAB_CLIENT),
        (MACHINE | {"scope": "api nonsense"}, 400, "invalid_scope", UNKNOWN_SCOPE),
        (MACHINE | {"client_secret": "wrong"}, 401, "invalid_client", GITLAB_CLIENT),
        (MACHINE | {"client_secret": ""}, 401, "invalid_client", GITLAB_CLIENT),
        (MACHINE | {"client_id": "nobody"}, 401, "invalid_client", GITLAB_CLIENT),
        (MACHINE | SPA, 401, "invalid_client", GITLAB_CLIENT),
    ],
    "discord": [
        (JSON, 400, "invalid_request", "The request must be form-encoded."),
        ({"code": "x" * 30}, 400, "invalid_grant", 'Invalid "code" in request.'),
        ({"client_secret": "wrong"}, 401, "invalid_client", ""),
        ({"code_verifier": None}, 400, "invalid_request", 'Missing "code_verifier"'),
        ({"redirect_uri": OTHER}, 400, "invalid_grant", 'Invalid "redirect_uri" in request.'),
        (MACHINE, 400, "invalid_scope", UNKNOWN_SCOPE),
        (MACHINE | {"scope": "identify nonsense"}, 400, "invalid_scope", UNKNOWN_SCOPE),
        (MACHINE | {"scope": "identify", "client_secret": "wrong"}, 401, "invalid_client", ""),
        (MACHINE | {"scope": "identify"} | SPA, 401, "invalid_client", ""),
    ],
    "apple": [
        (BY_BASIC | {"basic": basic(f"ours:{apple_secret('ours')}")}, 400, "invalid_client", ""),
        ({"code": "wrong"}, 400, "invalid_grant", "The code has expired or has been revoked."),
        ({"client_secret": "wrong"}, 400, "invalid_client", ""),
        ({"client_secret": None}, 400, "invalid_client", ""),
        ({"client_id": "nobody"}, 400, "invalid_client", ""),
        ({"redirect_uri": OTHER}, 400, "invalid_client", ""),
        ({"grant_type": None}, 400, "invalid_request", ""),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", ""),
        ({"code": None}, 400, "invalid_request", ""),
        (DEAD, 400, "invalid_grant", ""),
    ],
    "x": [
        ({"code": "wrong"}, 400, "invalid_request", X_CODE),
        ({"code_verifier": "w" * 43}, 400, "invalid_request", X_VERIFIER),
        ({"code_verifier": None}, 400, "invalid_request", "Missing required parameter [code_verifier]."),
        ({"code": None}, 400, "invalid_request", "Missing required parameter [code]."),
        ({"grant_type": None}, 400, "invalid_request", "Missing required parameter [grant_type]."),
        ({"grant_type": "password"}, 400, "invalid_request", X_TYPE),
        ({"redirect_uri": OTHER}, 400, "invalid_request", X_REDIRECT),
        (DEAD, 400, "invalid_request", "Value passed for the token was invalid."),
        ({"client_secret": "wrong"}, 401, "unauthorized_client", "Missing valid authorization header"),
        ({"client_id": "nobody"}, 401, "invalid_client", ""),
    ],
    "tiktok": [
        (JSON, 200, "invalid_request", TIKTOK_BAD),
        ({"code": "nonsense"}, 200, "invalid_grant", "Authorization code is expired."),
        ({"code": None}, 200, "invalid_request", TIKTOK_BAD),
        ({"client_id": "nobody"}, 200, "invalid_client", TIKTOK_CLIENT),
        ({"client_secret": "wrong"}, 200, "invalid_client", TIKTOK_CLIENT),
        (
            {"redirect_uri": OTHER},
            200,
            "invalid_request",
            "Redirect_uri is not matched with the uri when requesting code.",
        ),
        ({"grant_type": None}, 200, "invalid_request", TIKTOK_BAD),
        ({"grant_type": "client_credentials"}, 200, "unsupported_grant_type", "Grant type is not supported."),
    ],
    "amazon": [
        (JSON, 401, "invalid_client", "Client authentication failed"),
        ({"code": "nonsense"}, 400, "invalid_grant", AMAZON),
        ({"code": None}, 400, "invalid_request", "The request is missing a required parameter : code"),
        ({"grant_type": None}, 400, "invalid_request", "The request is missing a required parameter : grant_type"),
        ({"client_secret": "wrong"}, 401, "invalid_client", "Client authentication failed"),
        ({"client_id": "nobody"}, 401, "invalid_client", "Client authentication failed"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", UNKNOWN_TYPE),
        (DEAD, 400, "invalid_grant", "The request has an invalid grant parameter : refresh_token"),
        ({"redirect_uri": OTHER}, 400, "invalid_grant", "The request has an invalid grant parameter : redirect_uri"),
    ],
    "microsoft": [
        ({"client_secret": "wrong"}, 401, "invalid_client", MICROSOFT_SECRET),
        ({"basic": basic("ours:wrong")}, 401, "invalid_client", MICROSOFT_SECRET),
        ({"basic": basic("%6Furs:wrong")}, 401, "invalid_client", MICROSOFT_SECRET),
        ({"client_secret": None}, 401, "invalid_client", "7000218: The request body must contain"),
        ({"client_id": "nobody"}, 400, "unauthorized_client", MICROSOFT_CLIENT),
        ({"basic": basic("nobody:secret")}, 400, "unauthorized_client", MICROSOFT_CLIENT),
        ({"client_id": None}, 400, "invalid_request", f"{MICROSOFT_MISSING} 'client_id'."),
        ({"code": None}, 400, "invalid_request", f"{MICROSOFT_MISSING} 'code'."),
        (JSON, 400, "invalid_request", f"{MICROSOFT_MISSING} 'grant_type'."),
        ({"code": "nonsense"}, 400, "invalid_grant", "70000: The provided value for the input parameter 'code' is not"),
        ({"redirect_uri": OTHER}, 400, "invalid_grant", "500112: The reply address does not match"),
        ({"grant_type": "strange"}, 400, "unsupported_grant_type", "70003: The app requested an unsupported grant"),
    ],
    "linkedin": [
        ({"redirect_uri": OTHER}, 400, "invalid_request", LINKEDIN),
        (BY_BASIC, 400, "invalid_request", 'A required parameter "client_id" is missing'),
        (BY_BASIC | {"client_id": "ours"}, 400, "invalid_request", 'A required parameter "client_secret" is missing'),
        (JSON, 400, "invalid_request", 'A required parameter "grant_type" is missing'),
    ],
    "oidc": [
        ({"redirect_uri": OTHER}, 400, "invalid_grant", OIDC.replace("code", "redirect_uri", 1)),
        (MACHINE | {"scope": "jobs:run e\udcffmail"}, 400, "invalid_scope", "The scope is malformed."),
        (MACHINE | SPA, 400, "unsupported_grant_type", "The grant type is not supported."),
    ],
}


def said(visitor: Visitor, answer: Answer) -> tuple[int, str, str]:
    """Return status, error and description of a refusal. Its other members must be those of the provider."""
    body, headers = content(answer), dict(answer.headers)
    error, words = body["error"], body.get("error_description", "")
    others = sorted(body.keys() - {"error", "error_description"})
    match visitor.name:
        case "facebook":
            assert (error["type"], others) == ("OAuthException", [])
            return answer.status, str(error["code"]), error["message"]
        case "github":
            assert others == ["error_uri"]
            assert body["error_uri"] == (
                "https://docs.github.com/apps/managing-oauth-apps/"
                f"troubleshooting-oauth-app-access-token-request-errors/#{error.replace('_', '-')}"
            )
        case "gitlab":
            told = f'Bearer realm="Doorkeeper", error="{error}", error_description="{words}"'
            assert (others, headers["www-authenticate"]) == ([], told)
        case "tiktok":
            assert list(body) == ["error", "error_description", "log_id"]
            assert re.fullmatch(r"\d{14}[0-9A-F]{20}", body["log_id"])
        case "amazon":
            assert list(body) == ["error_index", "error_description", "error", "request_id"]
            assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", body["request_id"])
        case "microsoft":
            (number,) = body["error_codes"]
            assert words.startswith(f"AADSTS{number}: ")
            assert body["trace_id"] in words
            assert body["error_uri"] == f"https://login.microsoftonline.com/error?code={number}"
            words = words.removeprefix("AADSTS")
        case name if name in ROWS:
            assert others == []
    return answer.status, error, words


CODES: dict[str, tuple[Any, ...]] = {
    "google": (600, 400, "invalid_grant", *["Bad Request"] * 3),
    "facebook": (
        *(600, 400, "100", "This authorization code has been used.", "This authorization code has expired."),
        "Invalid verification code format.",
    ),
    "github": (600, 200, "bad_verification_code", *[GITHUB] * 3),
    "gitlab": (600, 400, "invalid_grant", *[GITLAB_GRANT] * 3),
    "discord": (100, 400, "invalid_grant", *['Invalid "code" in request.'] * 3),
    "apple": (
        *(300, 400, "invalid_grant", "The code has already been used.", "The code has expired or has been revoked."),
        "client_id mismatch. The code was not issued to theirs.",
    ),
    "x": (30, 400, "invalid_request", *[X_CODE] * 3),
    "tiktok": (600, 200, "invalid_grant", *["Authorization code is expired."] * 3),
    "amazon": (300, 400, "invalid_grant", *[AMAZON] * 3),
    "microsoft": (600, 400, "invalid_grant", "54005: ", "70008: ", "70000: "),
    "linkedin": (1800, 400, "invalid_request", *[LINKEDIN] * 3),
    "oidc": (600, 400, "invalid_grant", *[OIDC] * 3),
}
"""The life of a code in seconds, the status and error of its refusal, and the words if the code is used, expired, or of
another client.
"""
EVERY = pytest.mark.parametrize("name", NAMES)


def code_of(visitor: Visitor) -> tuple[Any, ...]:
    """Return the row of a provider in `CODES`. A provider without a row has the error of RFC 6749 5.2."""
    usual = (visitor.fake.provider(visitor.name).code_life, 400, "invalid_grant", *[None] * 3)
    return CODES.get(visitor.name, usual)


def refuses(visitor: Visitor, answer: Answer, status: int, error: str, words: str | None) -> bool:
    """Return whether an answer is this refusal. Of Microsoft's words, only the beginning is compared."""
    *told, description = said(visitor, answer)
    if words is not None and visitor.name != "microsoft":
        return [*told, description] == [status, error, words]
    return told == [status, error] and description.startswith(words or "")


@pytest.mark.parametrize(("name", "row"), [(name, row) for name, rows in ROWS.items() for row in rows])
def test_a_refused_token_request_has_the_providers_words_and_uses_up_no_code(visitor: Visitor, row: Row) -> None:
    changes, status, error, words = row
    if SPA.items() <= changes.items():
        public = Client(provider=visitor.name, client_id="spa", redirect_uris=("https://a.example/",))
        visitor.fake.world.clients.add(public)
    asks_for_proof = "code_verifier" in changes or bool(visitor.site.demands)
    proof = {"code_verifier": VERIFIER} if asks_for_proof else {}
    code = visitor.callback(**(CHALLENGE if asks_for_proof else {}))["code"]
    asked: dict[str, Any] = {"code": code, **proof, **changes}

    refused, taken = visitor.redeem(**asked), visitor.redeem(code, **proof)

    assert refuses(visitor, refused, status, error, words), refused
    assert "access_token" in content(taken)


@pytest.mark.parametrize("row", ROWS["tiktok"])
def test_tiktok_answers_with_400_if_switched(tiktok: Visitor, row: Row) -> None:
    changes, _, error, words = row
    tiktok.switch("token-errors-400", on=True)
    asked: dict[str, Any] = {"code": tiktok.callback()["code"]} | changes

    assert said(tiktok, tiktok.redeem(**asked)) == (400, error, words)


@EVERY
def test_a_code_is_used_once(visitor: Visitor) -> None:
    _, status, error, used, _, _ = code_of(visitor)
    code = visitor.callback()["code"]
    assert "access_token" in content(visitor.redeem(code))

    again = visitor.redeem(code)

    assert refuses(visitor, again, status, error, used), again


@EVERY
def test_a_code_expires(visitor: Visitor) -> None:
    life, status, error, _, late, _ = code_of(visitor)
    in_time, expired = visitor.callback()["code"], visitor.callback()["code"]
    visitor.clock.advance(life - 1)
    assert "access_token" in content(visitor.redeem(in_time))

    visitor.clock.advance(1)

    answer = visitor.redeem(expired)
    assert refuses(visitor, answer, status, error, late), answer


@EVERY
def test_a_code_serves_only_the_client_it_was_made_for(visitor: Visitor) -> None:
    _, status, error, _, _, foreign = code_of(visitor)

    answer = visitor.redeem(visitor.callback()["code"], **THEIRS)

    assert refuses(visitor, answer, status, error, foreign), answer
