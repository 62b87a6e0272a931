"""Tests of what a provider answers before and after one of its switches was set."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from tests.oauth.visitor import VERIFIER, Visitor, claims_of, content, parameters

from chatkey_oauth.engine.pkce import s256
from chatkey_oauth.providers import declared_switches

DISCOVERY = "/.well-known/openid-configuration"
METADATA = "/.well-known/oauth-authorization-server"
SUPPORTS_ISS = "authorization_response_iss_parameter_supported"
CHALLENGE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "S256"}
BASIC = f"Basic {b64encode(b'ours:ours-secret').decode()}"
GOOGLE = "https://id.localhost/google"
UNAUTHENTICATED = f'Bearer realm="{GOOGLE}/", error="invalid_token"'
DENIED = {"error": "access_denied", "state": "st-1"}
NO_HEADER = {"error": "unauthorized_client", "error_description": "Missing valid authorization header"}
GRAPH = {"facebook-api-version", "x-app-usage"}
RATE = {"ratelimit-limit", "ratelimit-observed", "ratelimit-remaining", "ratelimit-reset"}
OLD_TIKTOK = {"errCode": "-2", "error_type": "access_denied"}
EXPIRED = "The code has expired or has been revoked."


def denied(visitor: Visitor) -> dict[str, str]:
    return parameters(visitor.decide(decision="deny"))


def challenged(visitor: Visitor, **given: Any) -> Any:
    """Return the error of a token request for a code with a challenge, or None."""
    return content(visitor.redeem(visitor.callback(**CHALLENGE)["code"], **given)).get("error")


def profile_headers(visitor: Visitor) -> set[str]:
    return set(dict(visitor.profile(visitor.access_token()).headers))


def issuers(visitor: Visitor) -> list[str]:
    """Return the issuer of an id_token and of the discovery document."""
    return [claims_of(visitor.login()["id_token"])["iss"], content(visitor.get(DISCOVERY))["issuer"]]


def www_authenticate(visitor: Visitor) -> list[str | None]:
    paths = ("/v1/userinfo", "/oauth2/v2/userinfo")
    return [dict(visitor.profile("nonsense", path).headers).get("www-authenticate") for path in paths]


def other_client(visitor: Visitor) -> str:
    answer = visitor.redeem(visitor.callback()["code"], client_id="theirs", client_secret="theirs-secret")
    return str(content(answer)["error_description"])


def without_user_agent(visitor: Visitor) -> list[int]:
    """Return the status of a request without a `User-Agent`, and of one with it."""
    authorization = f"Bearer {visitor.access_token()}"
    agents: list[dict[str, str]] = [{"user_agent": ""}, {}]
    return [visitor.get(visitor.site.profile, None, authorization=authorization, **agent).status for agent in agents]


SWITCHED: dict[str, tuple[Callable[[Visitor], Any], Any, Any]] = {
    "google.iss": (lambda google: "iss" in google.callback(), True, False),
    "google.advertise-iss": (lambda google: content(google.get(DISCOVERY))[SUPPORTS_ISS], True, False),
    "google.bare-iss": (issuers, [GOOGLE, GOOGLE], ["id.localhost/google", GOOGLE]),
    "google.silent-prompt": (lambda google: google.ask(prompt="none").status, 302, 200),
    "google.www-authenticate": (www_authenticate, [UNAUTHENTICATED] * 2, [None, None]),
    "facebook.granted-scopes": (
        lambda facebook: sorted(facebook.callback(return_scopes="true")),
        *(["code", "denied_scopes", "granted_scopes", "state"], ["code", "state"]),
    ),
    "facebook.missing-token-401": (
        lambda facebook: [facebook.get("/me").status, facebook.profile("nonsense").status],
        *([400, 400], [401, 400]),
    ),
    "facebook.graph-headers": (lambda facebook: GRAPH & profile_headers(facebook), GRAPH, set()),
    "github.iss": (
        lambda github: ["iss" in github.callback(), content(github.get(f"{METADATA}/login/oauth"))[SUPPORTS_ISS]],
        *([True, True], [False, False]),
    ),
    "gitlab.rate-headers": (lambda gitlab: RATE & profile_headers(gitlab), set(), RATE),
    "gitlab.blocked": (lambda gitlab: content(gitlab.profile(gitlab.access_token()))["state"], "active", "blocked"),
    "discord.iss": (
        lambda discord: [discord.callback().get("iss"), SUPPORTS_ISS in content(discord.get(METADATA))],
        *(["https://id.localhost/discord", True], [None, False]),
    ),
    "discord.older-errors": (
        lambda discord: [content(discord.redeem("x" * 30, client_secret=s))["error"] for s in ("ours-secret", "wrong")],
        *(["invalid_grant", "invalid_client"], ["invalid_request", "invalid_client"]),
    ),
    "discord.user-agent": (without_user_agent, [200, 200], [403, 200]),
    "apple.mismatch-text": (other_client, "client_id mismatch. The code was not issued to theirs.", EXPIRED),
    "apple.pkce": (lambda apple: challenged(apple, code_verifier="w" * 43), "invalid_grant", None),
    "apple.refresh-id-token": (
        lambda apple: "id_token" in content(apple.refresh(apple.login()["refresh_token"])),
        *(True, False),
    ),
    "x.deny-description": (denied, DENIED, DENIED | {"error_description": "The user denied the request."}),
    "x.unknown-client": (
        lambda x: content(x.redeem("any", client_id="nobody")),
        *({"error": "invalid_client"}, NO_HEADER),
    ),
    "x.revoked-body": (
        lambda x: content(x.post("/2/oauth2/revoke", {"token": "unknown"}, authorization=BASIC)),
        *({"revoked": True}, {}),
    ),
    "tiktok.web-base64url": (lambda tiktok: challenged(tiktok, code_verifier=VERIFIER), None, "invalid_request"),
    "tiktok.err-code": (lambda tiktok: OLD_TIKTOK.items() <= denied(tiktok).items(), False, True),
    "amazon.callback-scope": (lambda amazon: amazon.callback().get("scope"), "profile", None),
    "linkedin.nonce": (
        lambda linkedin: claims_of(linkedin.login(nonce="n-1")["id_token"]).get("nonce"),
        *(None, "n-1"),
    ),
    "linkedin.pkce": (lambda linkedin: challenged(linkedin, code_verifier=VERIFIER), "invalid_client", None),
}


@pytest.mark.parametrize(("name", "key"), [key.split(".") for key in SWITCHED])
def test_a_switch_changes_the_answer(visitor: Visitor, key: str) -> None:
    look, by_default, switched = SWITCHED[f"{visitor.name}.{key}"]
    default = next(one.default for one in declared_switches()[visitor.name] if one.name == key)

    before = look(visitor)
    visitor.switch(key, on=not default)

    assert (before, look(visitor)) == (by_default, switched)
